/** How `iota chain` handles options and data: weights, amounts, tables, preflight, status; no chain is queried. */

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { EpochState, Neuron, PendingCommit, SubnetParameters } from "../../../chain/chain.ts";
import type { ChainView } from "../../../chain/duty/duty.ts";
import { revealBlockOf } from "../../../chain/epochs/epochs.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import { commitLine } from "../../../cli/chain/text/commit_text.ts";
import {
  alignedTable,
  inBlocks,
  nextCommand,
  nodeCommand,
  parseTokens,
  withWholeCommands,
} from "../../../cli/chain/text/chain_words.ts";
import { findingsOf, levelOf, type StatusFacts } from "../../../cli/chain/hotkey_status.ts";
import { neuronFields, neuronTable, sortedNeurons } from "../../../cli/chain/text/neuron_table.ts";
import { parameterFields, parameterText } from "../../../cli/chain/text/parameter_text.ts";
import { parseWeightFile, parseWeightList, placeWeights } from "../../../cli/chain/weight_scores.ts";
import type { OptionValues } from "../../../cli/terminal/command.ts";
import { hindranceOf } from "../../../cli/chain/weights_preflight.ts";
import { main } from "../../../cli/command_line.ts";
import { storeError } from "../../../cli/chain/run_local_chain.ts";
import { ChainStoreError } from "../../../chain/local/state/chain_store.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { tokens } from "../../../cli/terminal/text/format.ts";

const alice = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
const bob = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty";
const plain = createPaint(false);

const miner: Neuron = {
  ...{ uid: 1, hotkey: bob, coldkey: bob, isActive: true, hasPermit: false },
  ...{ registeredAtBlock: 10, lastUpdateBlock: 10 },
  ...{ stakeRao: 0n, incentive: 65_535, dividends: 0, emissionRao: 1_500_000_000n },
  axon: { ip: "255.255.255.255", port: 65_535, protocol: 4, version: 1 },
};
const validator: Neuron = {
  ...{ uid: 0, hotkey: alice, coldkey: alice, isActive: true, hasPermit: true },
  ...{ registeredAtBlock: 0, lastUpdateBlock: 90 },
  ...{ stakeRao: 123_456_789_000_000_000n, incentive: 0, dividends: 32_768, emissionRao: 0n, axon: null },
};
const parameters: SubnetParameters = {
  ...{ block: 100, tempoBlocks: 20, minAllowedWeights: 1, maxWeightsLimit: 65_535, weightsVersionKey: 0n },
  ...{ weightsRateLimitBlocks: 5, isCommitReveal: false, commitRevealVersion: 4, revealPeriodEpochs: 1, mechanisms: 1 },
  ...{ stakeThresholdRao: 0n, servingRateLimitBlocks: 5, activityCutoffBlocks: 50, immunityPeriodBlocks: 100 },
  ...{ isRegistrationAllowed: true, registrationCostRao: 100_000_000n, maxUids: 256, maxValidators: 64 },
  ...{ ownerHotkey: null, ownerColdkey: null, blockMs: 12_000, specVersion: 425, consensus: "yuma" },
};
const epoch: EpochState = {
  ...{ formula: "stateful", block: 100, netuid: 9, tempoBlocks: 20, lastEpochBlock: 95, pendingEpochAtBlock: 0 },
  ...{ epochIndex: 5, blocksSinceLastStep: 5 },
};

function viewOf(neurons: readonly Neuron[], changed: Partial<ChainView> = {}): ChainView {
  return {
    finalizedBlock: 100,
    metagraph: { netuid: 9, block: 100, neurons },
    parameters,
    epoch,
    row: [],
    commits: [],
    calls: null,
    ...changed,
  };
}

const commandTo = (words: string): string => `iota chain ${words}`;

function factsOf(hotkey: string, view: ChainView, headAgeMs = 3_000): StatusFacts {
  const endpoint = { url: "ws://127.0.0.1:9944", connectMs: 80, readMs: 9, headAgeMs };
  return { hotkey, view, paidRao: null, account: { coldkey: alice, balanceRao: 10n ** 9n }, endpoint, commandTo };
}

Deno.test("Amounts: TAO become rao without rounding, and rao read as TAO", () => {
  for (
    const [text, rao] of [["0.5", 500_000_000n], ["1000", 10n ** 12n], ["0.000000001", 1n], [
      "7.10",
      7_100_000_000n,
    ]] as const
  ) {
    assertEquals(parseTokens(text, "amount"), rao);
  }
  for (const bad of ["", "-1", "1e3", "0.0000000001", ".5", "1,000", "five"]) {
    assertThrows(() => parseTokens(bad, "amount"), Error, "an amount such as 0.5");
  }
  assertEquals([0n, 1n, 10n ** 9n, 1_234_567_891_000_000n].map(tokens), ["0", "0.000000001", "1", "1,234,567.891"]);
});

Deno.test("Weights given: uids and hotkeys with their scores, and invalid ones are reported", () => {
  assertEquals(parseWeightList(`3:0.5, ${alice}=1,4:2e-3`), [
    { target: 3, score: 0.5 },
    { target: alice, score: 1 },
    { target: 4, score: 0.002 },
  ]);
  for (const bad of ["3", "3;4", "x:1", "3:-1", "3:NaN", "3:1:2", `${alice.slice(0, -1)}=1`, "3:"]) {
    assertThrows(() => parseWeightList(bad), Error, "UID:WEIGHT or HOTKEY=WEIGHT");
  }
  assertEquals(parseWeightFile(`{"${bob}": 2, "0": 1}`, "f").map(({ score }) => score).sort(), [1, 2]);
  assertThrows(() => parseWeightFile("[1]", "f"), Error, "an object from hotkey to score");
  assertThrows(() => parseWeightFile(`{"${bob}": "2"}`, "f"), Error, "a number of at least 0");
  assertThrows(() => parseWeightFile("{", "f"), Error, "is not JSON");
});

Deno.test("Weights given: a hotkey means its current uid, and missing ones are listed", () => {
  const given = [{ target: bob, score: 2 }, { target: 0, score: 1 }, { target: 7, score: 1 }];
  const { scores, missing } = placeWeights(given, [validator, miner]);
  assertEquals(scores, [{ uid: 1, score: 2 }, { uid: 0, score: 1 }]);
  assertEquals(missing, [7]);
});

Deno.test("Endpoints: presets and addresses mix, in the order given, each once", () => {
  const { urls } = parseEndpoints("local, wss://own.example:443,finney,local");
  assertEquals(urls.slice(0, 3), [
    "ws://127.0.0.1:9944",
    "wss://own.example:443",
    "wss://entrypoint-finney.opentensor.ai:443",
  ]);
  assertEquals(urls.length, 5);
  for (const bad of ["", "mainnet", "local,http://a"]) assertThrows(() => parseEndpoints(bad), Error, "must be one of");
});

Deno.test("Neuron table: fits 80 and 120 columns, whatever the neurons say", () => {
  const long: Neuron = { ...miner, uid: 255, axon: { ...miner.axon!, ip: "2001:db8:1111:2222:3333:4444:5555:6666" } };
  const neurons = [validator, miner, { ...long, emissionRao: 987_654_321_000_000_000n, lastUpdateBlock: -9_999_999 }];
  for (const columns of [80, 120]) {
    const lines = neuronTable(neurons, { block: 100, owner: parameters, columns, paint: plain });
    for (const line of lines) assert([...line].length <= columns, `${columns}: ${line}`);
    assertMatch(lines[1]!, columns === 80 ? /^ {2}0 {2}● {2}5Grwva…utQY/ : /^ {2}0 {2}5Grwva…utQY .* yes {5}yes /);
    assertStringIncludes(lines.join("\n"), "1.0000");
  }
  assertStringIncludes(
    neuronTable(neurons, { block: 100, owner: parameters, columns: 120, paint: plain })[2]!,
    "255.255.255.255:65535",
  );
});

Deno.test("Neuron table: what the chain burned does not look like pay", () => {
  const owner = { ...parameters, ownerColdkey: bob };
  const [, , row, , , legend] = neuronTable([validator, miner], { block: 100, owner, columns: 80, paint: plain });
  assertMatch(row!, / burned /);
  assertMatch(legend!, /^burned: incentive of hotkeys whose coldkey owns the subnet/);
  assertEquals(neuronFields(miner, { block: 100, owner }).isIncentiveBurned, true);
  assertEquals(neuronFields(miner, { block: 100, owner: parameters }).isIncentiveBurned, false);
});

Deno.test("Status: earned is what is in the stake, and burned incentive is wrong", () => {
  const earned = (paidRao: bigint | null, ownerColdkey: string | null = null) => {
    const facts = factsOf(bob, viewOf([validator, miner], { parameters: { ...parameters, ownerColdkey } }));
    const finding = findingsOf({ ...facts, paidRao }).find(({ name }) => name === "earned")!;
    assert(finding.text.length <= 66, finding.text);
    return [finding.level, finding.text];
  };
  assertEquals(earned(miner.emissionRao), ["plain", "1.5 in the last epoch"]);
  assertEquals(earned(0n, bob), ["wrong", "0 in the last epoch: its coldkey owns the subnet, 1.5 burned"]);
  assertEquals(earned(0n), ["plain", "0 in the last epoch, of 1.5 allotted"]);
  assertEquals(earned(null), ["plain", "1.5 allotted; what it was paid cannot be read"]);
});

Deno.test("Neuron table: sorted as requested, and complete for programs", () => {
  assertEquals(sortedNeurons([validator, miner], "incentive").map(({ uid }) => uid), [1, 0]);
  assertEquals(sortedNeurons([miner, validator], "uid").map(({ uid }) => uid), [0, 1]);
  const fields = neuronFields(validator, { block: 100, owner: parameters });
  assertEquals([fields.stakeRao, fields.updateAgeBlocks, fields.axon], ["123456789000000000", 10, null]);
  JSON.stringify(fields); // throws on a bigint
});

Deno.test("Tables: columns are as wide as their longest text, and a text over the width is cut", () => {
  const lines = alignedTable([
    { title: "n", align: "right", text: String },
    { title: "word", align: "left", width: 4, text: (value: number) => "x".repeat(value) },
  ], [3, 10]);
  assertEquals(lines, [" n  word", " 3  xxx", "10  xxx…"]);
  assertEquals([inBlocks(0, 12_000), inBlocks(1, 12_000), inBlocks(7, 12_000)], [
    "now",
    "in 1 block (12 s)",
    "in 7 blocks (84 s)",
  ]);
});

Deno.test("Parameters: the next epoch, the mode of weights and the price, in 80 columns", () => {
  const timelocked = { ...parameters, isCommitReveal: true };
  const text = parameterText({ netuid: 9, parameters: timelocked, epoch, neurons: 2, isStarted: true }, plain);
  for (const line of text) assert(line.length <= 80, line);
  assertStringIncludes(text.join("\n"), "in 15 blocks (3 min), at block 115");
  assertStringIncludes(text.join("\n"), "under a timelock, opened 1 epoch later");
  const fields = parameterFields({ netuid: 9, parameters: timelocked, epoch, neurons: 2, isStarted: true });
  assertEquals([fields.weightsMode, fields.nextEpochBlock, fields.epochInMs], ["timelocked", 115, 180_000]);
  assertEquals(fields.registrationCostRao, "100000000");
  JSON.stringify(fields);
});

Deno.test("Weights preflight: each refusal with the block at which it may end, if time helps", () => {
  const row = { uids: [1], values: [65_535] };
  const found = (own: Neuron, changed: Partial<ChainView> = {}, given = row) =>
    hindranceOf({ view: viewOf([own, miner], changed), own, row: given, mechanism: 0, versionKey: 3n });
  assertEquals(found(validator), null);
  const fresh = found({ ...validator, lastUpdateBlock: 98 });
  assertEquals([fresh?.refusal.name, fresh?.untilBlock], ["SettingWeightsTooFast", 102]);
  assertStringIncludes(fresh!.refusal.action, "try again in 2 blocks (24 s); --wait waits for it");
  const waiting = found({ ...validator, hasPermit: false });
  assertEquals([waiting?.refusal.name, waiting?.untilBlock], ["NeuronNoValidatorPermit", 115]);
  const poor = found({ ...validator, hasPermit: false, stakeRao: 0n });
  assertEquals([poor?.refusal.name, poor?.untilBlock], ["NeuronNoValidatorPermit", null]);
  const self = { uids: [0], values: [65_535] };
  assertEquals(found({ ...validator, hasPermit: false }, {}, self), null); // no permit is needed for oneself
  const single = { ...parameters, consensus: "null", ownerHotkey: alice } as const;
  const second = { ...validator, hasPermit: false };
  const behind = hindranceOf({
    view: viewOf([second, { ...miner, hasPermit: true, stakeRao: 10n ** 18n }], { parameters: single }),
    ...{ own: second, row: self, mechanism: 0, versionKey: 3n },
  });
  assertEquals([behind?.refusal.name, behind?.untilBlock], ["NeuronNoValidatorPermit", null]); // not even the owner, or for oneself
  assertStringIncludes(behind!.refusal.sentence, "consensus is Null: only the hotkey with the most stake");
  assertStringIncludes(behind!.refusal.action, "has 1 validator and the smallest holds 1000000000.00");
  assertEquals(found(second, { parameters: single })?.untilBlock, 115); // the most stake: the next epoch gives the permit
  const newer = found(validator, { parameters: { ...parameters, weightsVersionKey: 4n } });
  assertEquals([newer?.refusal.name, newer?.untilBlock], ["IncorrectWeightVersionKey", null]);
});

Deno.test("Commits: when they are revealed follows from the block they were made in", () => {
  const timelocked: PendingCommit = { committedBlock: 97, revealRound: 12n, revealFromBlock: null };
  assertEquals(revealBlockOf(epoch, { committedBlock: 97, revealPeriodEpochs: 1 }), 115);
  assertEquals(revealBlockOf(epoch, { committedBlock: 97, revealPeriodEpochs: 2 }), 135);
  assertEquals(revealBlockOf(epoch, { committedBlock: 94, revealPeriodEpochs: 2 }), 115);
  const legacy: EpochState = { formula: "legacy", block: 100, netuid: 9, tempoBlocks: 20, blocksSinceLastStep: 5 };
  assertEquals(revealBlockOf(legacy, { committedBlock: 97, revealPeriodEpochs: 1 }), 116);
  assertEquals(revealBlockOf({ ...legacy, tempoBlocks: 0 }, { committedBlock: 97, revealPeriodEpochs: 1 }), null);
  const moment = { epoch, parameters, commandTo };
  assertStringIncludes(commitLine(timelocked, moment), "revealed by the chain in 15 blocks (3 min)");
  assertStringIncludes(commitLine({ ...timelocked, committedBlock: 94 }, moment), "waiting for drand round 12");
  const salted: PendingCommit = { committedBlock: 97, revealRound: null, revealFromBlock: 101 };
  assertStringIncludes(commitLine(salted, moment), "now: iota chain commit --reveal");
});

Deno.test("Status: good, waiting and wrong are distinguished, each with its text", () => {
  const check = (facts: StatusFacts, level: string, name: string, says: RegExp) => {
    const findings = findingsOf(facts);
    const finding = findings.find((each) => each.name === name);
    assertEquals(levelOf(findings), level, JSON.stringify(findings));
    assertMatch(finding?.text ?? "", says);
    for (const { text } of findings) assert(text.length <= 66, text);
  };
  const set = { row: [{ uid: 1, value: 65_535 }] };
  check(
    factsOf(alice, viewOf([validator, miner], set)),
    "good",
    "weights",
    /^1 in force, last sent 10 blocks \(2 min\) ago/,
  );
  check(factsOf(alice, viewOf([validator, miner], set)), "good", "window", /^(open for|a validator sends)/);
  check(factsOf(bob, viewOf([validator, miner])), "good", "permit", /without stake/);
  check(factsOf(bob, viewOf([validator])), "wrong", "registered", /no: iota chain register$/);
  check(factsOf(alice, viewOf([validator])), "waiting", "weights", /none in force/);
  const staked = { ...miner, stakeRao: 10n ** 12n };
  check(factsOf(bob, viewOf([validator, staked])), "waiting", "permit", /the next epoch gives one, in 15 blocks/);
  const idle = { ...validator, isActive: false, lastUpdateBlock: 20 };
  check(factsOf(alice, viewOf([idle], set)), "wrong", "activity", /no weights came for 50 blocks: set weights/);
  const dear = viewOf([validator], { ...set, parameters: { ...parameters, stakeThresholdRao: 10n ** 18n } });
  check(factsOf(alice, dear), "wrong", "stake", /needs 1,000,000,000/);
  const commits = [{ committedBlock: 97, revealRound: 34_154_639n, revealFromBlock: null }];
  check(
    factsOf(alice, viewOf([validator], { commits })),
    "waiting",
    "commit",
    /^block 97, revealed by the chain in 15/,
  );
});

Deno.test("Status: an endpoint whose newest block is old is wrong", () => {
  const findings = findingsOf(factsOf(bob, viewOf([miner]), 15 * 60_000));
  assertEquals(levelOf(findings), "wrong");
  assertMatch(findings.at(-1)!.text, /newest block is 15 min old/);
});

Deno.test("Next steps: a command repeats where and who, and nothing that the action does not take", () => {
  const given = new Map<string, string | number>([["endpoint", "ws://127.0.0.1:9"], ["netuid", 3], [
    "wallet",
    "my own",
  ]]);
  const options: OptionValues = {
    text: (name) => given.get(name) as string | undefined,
    number: (name) => given.get(name) as number | undefined,
    flag: () => false,
    given: (name) => given.has(name),
  };
  const where = "--endpoint ws://127.0.0.1:9 --netuid 3";
  assertEquals(nextCommand(options, "register"), `iota chain register ${where} --wallet 'my own'`);
  assertEquals(nextCommand(options, "commit --reveal"), `iota chain commit --reveal ${where} --wallet 'my own'`);
  assertEquals(nextCommand(options, "params"), `iota chain params ${where}`);
  given.set("mechanism", 1).delete("wallet");
  assertEquals(nextCommand(options, "weights"), `iota chain weights ${where} --mechanism 1`);
  assertEquals(nextCommand(options, "register"), `iota chain register ${where}`);
});

Deno.test("Next steps: a node's sentence names its chain and hotkey, and nothing that the action does not take", () => {
  const commandTo = nodeCommand({ network: "ws://127.0.0.1:9", netuid: 3, hotkey: "5Hot" });
  const whole = (sentence: string) => withWholeCommands(sentence, commandTo);
  const where = "--netuid 3 --endpoint ws://127.0.0.1:9";
  assertEquals(
    whole("stake (`iota chain stake --amount 2.50`), wait"),
    `stake (iota chain stake --amount 2.50 ${where} --hotkey 5Hot), wait`,
  );
  assertEquals(whole("see `iota chain params`"), `see iota chain params ${where}`);
  assertEquals(whole("epoch in 3 blocks"), "epoch in 3 blocks");
});

/** What a command says of a word that it does not take, before anything is opened or asked. */
async function refusedWords(words: readonly string[]): Promise<{ code: number; said: string }> {
  const host = new FakeHost({ env: { HOME: "/nowhere" } });
  const code = await main(["chain", ...words], host);
  return { code, said: host.written.stderr };
}

Deno.test("Serving: an address that the chain would not take is named before anything is signed", async () => {
  const serve = (ip: string) => refusedWords(["serve", "--ip", ip, "--port", "8091"]);
  for (const ip of ["999.1.1.1", "host.example", "01.2.3.4"]) {
    const { code, said } = await serve(ip);
    assertEquals(code, 2, said);
    assertStringIncludes(said, `--ip must be an IPv4 or IPv6 address, but is '${ip}'`);
  }
  for (const ip of ["127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::"]) {
    assertStringIncludes((await serve(ip)).said, `loopback, zero or broadcast address, but is '${ip}'`);
  }
});

Deno.test("Hotkeys: an address with a wrong letter is told from a name", async () => {
  const mistyped = alice.replace("G", "H");
  for (const words of [["status"], ["register"], ["serve", "--ip", "203.0.113.7", "--port", "1"]]) {
    const { code, said } = await refusedWords([...words, "--hotkey", mistyped]);
    assertEquals(code, 2, said);
    assertStringIncludes(said, `The address '${mistyped}' of --hotkey does not match its checksum`);
  }
});

Deno.test("Local chain: a chain that another process has leads to a command that starts one beside it", () => {
  const text =
    "Cannot open the chain at /a/chain.sqlite as another process is using it: stop that one, or use another path";
  const { message, next } = storeError(new ChainStoreError("locked", text), "/a b");
  assertEquals(message, "Cannot open the chain at /a/chain.sqlite as another process is using it");
  assertEquals(
    next,
    "Stop that process, or run another chain beside it: iota chain local --data '/a b-2' --port 0",
  );
  const damaged = storeError(new ChainStoreError("damaged", "Cannot open it as it is damaged: restore it"), "/a");
  assertEquals(damaged.next, "Restore it");
});
