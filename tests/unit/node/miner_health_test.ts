/** What a miner reports about its place in the subnet, and which nodes an orchestrator admits by the subnet's list. */

import { assertEquals, assertMatch } from "@std/assert";
import type { Chain, Head, Metagraph, Neuron, SubnetParameters } from "../../../chain/chain.ts";
import { ChainError } from "../../../chain/chain.ts";
import { minerHealth, validatorSupport } from "../../../chain/duty/miner_health.ts";
import { Admission } from "../../../cli/chain/duty/admission.ts";
import { idle } from "../../support/idle.ts";

const parameters = {
  ...{ immunityPeriodBlocks: 100, maxUids: 3, blockMs: 12_000, ownerHotkey: "owner", ownerColdkey: "owners" },
} as SubnetParameters; // all that is read

function neuron(uid: number, change: Partial<Neuron> = {}): Neuron {
  return {
    ...{ uid, hotkey: `hot${uid}`, coldkey: "cold", isActive: true, hasPermit: false, registeredAtBlock: 0 },
    ...{ lastUpdateBlock: 0, stakeRao: 0n, incentive: 0, dividends: 0, emissionRao: 0n, axon: null },
    ...change,
  };
}

function healthOf(
  hotkey: string,
  neurons: readonly Neuron[],
  change: Partial<SubnetParameters> = {},
  { support = null, paidRao }: { support?: number | null; paidRao?: bigint | null } = {},
) {
  const metagraph: Metagraph = { netuid: 9, block: 1_000, neurons };
  const paid = paidRao === undefined ? neurons.find((each) => each.hotkey === hotkey)?.emissionRao ?? 0n : paidRao;
  return minerHealth({ hotkey, metagraph, parameters: { ...parameters, ...change }, paidRao: paid, support });
}

Deno.test("Miner health: an unregistered hotkey earns nothing, and gets the command to register", () => {
  const { level, uid, sentences } = healthOf("hot9", [neuron(0)]);
  assertEquals([level, uid], ["alarm", null]);
  assertMatch(sentences[0]!, /not registered on subnet 9.*`iota chain register`/);
});

Deno.test("Miner health: its earnings, and its share among miners", () => {
  const own = neuron(1, { incentive: 30, emissionRao: 1_234_500_000n });
  const health = healthOf("hot1", [neuron(0, { incentive: 70, emissionRao: 2n }), own]);
  assertEquals([health.level, health.uid, health.incentiveShare], ["good", 1, 0.3]);
  assertEquals(health.sentences, [
    "uid 1 earned 1.234 alpha in the last epoch, 30.0 % of the miners' share",
    "its place is safe: the subnet has room",
  ]);
});

Deno.test("Miner health: emission that is not in its stake was not earned, and is said with its reason", () => {
  const emissionRao = 1_234_500_000n;
  const of = (change: Partial<Neuron>, paidRao: bigint | null) => {
    const { level, earnedRao, sentences } = healthOf("hot1", [neuron(1, { emissionRao, ...change })], {}, { paidRao });
    return { level, earnedRao, said: sentences[0]! };
  };
  const burned = of({ coldkey: "owners" }, 0n);
  assertEquals([burned.level, burned.earnedRao], ["alarm", 0n]);
  assertMatch(burned.said, /earned 0\.000 alpha .*the chain burned 1\.234, because its coldkey owns the subnet/);
  const elsewhere = of({}, 1_000_000_000n);
  assertEquals([elsewhere.level, elsewhere.earnedRao], ["good", 1_000_000_000n]);
  assertMatch(elsewhere.said, /earned 1\.000 alpha .*0\.234 of the 1\.234 alpha allotted to it went elsewhere/);
  const unread = of({}, null);
  assertEquals(unread.earnedRao, null);
  assertMatch(unread.said, /was allotted 1\.234 alpha by the last epoch, .* its stake before can no longer be read/);
});

Deno.test("Miner health: a newcomer is immune, and waits for weights", () => {
  const { level, sentences } = healthOf("hot0", [neuron(0, { registeredAtBlock: 990 })]);
  assertEquals(level, "waiting");
  assertMatch(sentences.join(), /earned nothing.*immune for 90 more blocks \(18 min\)/);
});

Deno.test("Miner health: why nothing is paid depends on the stake that weighs the miner", async () => {
  const validator = { hasPermit: true, stakeRao: 600n, lastUpdateBlock: 950 };
  const neurons = [
    neuron(0, validator),
    neuron(1, { ...validator, stakeRao: 400n }),
    neuron(2, { registeredAtBlock: 900 }),
    neuron(3, { stakeRao: 5_000n }), // has no vote without a permit
  ];
  const support = (rows: Record<number, number[]>, own = neurons[2]!) => {
    const weightsOf = ({ uid }: { uid: number }) =>
      Promise.resolve((rows[uid] ?? []).map((target) => ({ uid: target, value: 9 })));
    const metagraph: Metagraph = { netuid: 9, block: 1_000, neurons };
    return validatorSupport({ weightsOf }, { own, metagraph, parameters: { stakeThresholdRao: 0n } });
  };
  const why = (share: number) =>
    healthOf("hot2", neurons, { maxUids: 5 }, { support: share }).sentences[0]!.replace(/^.*last epoch/, "");
  assertEquals(why(await support({ 0: [1], 3: [2] })), ": no validator has set a weight for it yet");
  assertEquals(
    why(await support({ 0: [1], 1: [2] })),
    ": validators with 40.0 % of the stake weigh it; consensus needs more than half",
  );
  assertEquals(
    why(await support({ 0: [2], 1: [0] })),
    ": validators with 60.0 % of the stake weigh it, which the next epoch counts",
  );
  const newcomer = neuron(2, { registeredAtBlock: 960 });
  assertEquals(await support({ 0: [2], 1: [2] }, newcomer), 0, "those weights are for the uid's former hotkey");
});

Deno.test("Miner health: on a full subnet the least earner without immunity is next to go, and only it", () => {
  const full = [
    neuron(0, { emissionRao: 5n }),
    neuron(1, { emissionRao: 7n }),
    neuron(2, { emissionRao: 1n, registeredAtBlock: 950 }),
  ];
  assertEquals(full.map(({ hotkey }) => healthOf(hotkey, full).level), ["alarm", "good", "good"]);
  assertMatch(healthOf("hot0", full).sentences[0]!, /^the next newcomer takes its place/);
  assertMatch(healthOf("hot1", full).sentences[1]!, /^neurons without immunity that earn less .*: 1$/);
  assertEquals(healthOf("hot0", full, { maxUids: 4 }).level, "good");
});

/** A chain of which only heads and the metagraph are asked. */
class ListedChain {
  answer: () => Metagraph = () => ({ netuid: 9, block: 1, neurons: [] });
  asked = 0;
  /** As it connects; without one the chain says nothing before its next block. */
  newest: Head | null = null;
  #listener: (head: Head) => void = () => {};

  readonly chain = {
    head: () => {
      if (this.newest === null) return Promise.reject(new ChainError("timeout", "no head yet"));
      return Promise.resolve(this.newest);
    },
    onHead: (listener: (head: Head) => void) => {
      this.#listener = listener;
      return () => this.#listener = () => {};
    },
    metagraph: () => {
      this.asked += 1;
      return Promise.resolve().then(this.answer);
    },
  } as unknown as Chain;

  async head(block: number): Promise<void> {
    this.#listener({ block, seenMs: 0 });
    await idle();
  }
}

Deno.test("Admission: a lost place or permit counts for ten minutes more, and a list that is not read for none", async () => {
  const problems: string[] = [];
  const onProblem = (text: string) => problems.push(text);
  const onFailure = (error: unknown) => {
    throw error;
  };
  const admission = new Admission({ network: "test", netuid: 9, onProblem, onFailure });
  const listed = new ListedChain();
  const stop = admission.follow(listed.chain);
  let renewals = 0;
  admission.onRenewed = () => renewals += 1;
  const has = (node: string, role: "miner" | "validator") => admission.check({ node, role }) === null;
  const look = async (block: number, ...neurons: Neuron[]) => {
    listed.answer = () => ({ netuid: 9, block, neurons });
    await listed.head(block);
    return [has("hot0", "miner"), has("hot1", "miner"), has("hot1", "validator")];
  };
  assertEquals(await look(100, neuron(0), neuron(1, { hasPermit: true })), [true, true, true]);
  assertEquals(await look(1_000, neuron(1)), [true, true, true], "after a long silence too");
  assertEquals(await look(1_049, neuron(1)), [true, true, true]);
  assertEquals(await look(1_055, neuron(1)), [false, true, false]);
  assertEquals(await look(1_060, neuron(0), neuron(1, { hasPermit: true })), [true, true, true], "registered again");
  assertEquals(await look(1_065, neuron(1)), [true, true, true]);
  assertEquals(await look(1_110, neuron(0)), [true, true, true], "seen between: counted anew");
  assertEquals(await look(1_140, neuron(1)), [true, true, false]);
  listed.answer = () => ({ netuid: 9, block: 3, neurons: [] }); // an endpoint that is still catching up
  for (let block = 1_141; block < 1_300; block += 5) await listed.head(block);
  assertEquals([has("hot0", "miner"), has("hot1", "miner"), renewals], [true, true, 8]);
  assertEquals(problems.length, 31);
  stop();
});

Deno.test("Admission: registered hotkeys, validators with a permit, and no node before the list is read", async () => {
  const problems: string[] = [];
  const onFailure = (error: unknown) => problems.push(`bug: ${error}`);
  const admission = new Admission({ network: "test", netuid: 9, onProblem: (text) => problems.push(text), onFailure });
  const codeOf = (node: string, role: "miner" | "validator") => admission.check({ node, role })?.code ?? "admitted";
  const listed = new ListedChain();
  const stop = admission.follow(listed.chain);
  assertEquals(codeOf("hot0", "miner"), "wrongPhase", "the node comes again");

  listed.answer = () => {
    throw new ChainError("timeout", "no answer");
  };
  await listed.head(1);
  assertEquals(codeOf("hot0", "miner"), "wrongPhase");
  listed.answer = () => ({ netuid: 9, block: 2, neurons: [neuron(0), neuron(1, { hasPermit: true })] });
  await listed.head(2);
  const verdicts = () => [codeOf("hot0", "miner"), codeOf("hot0", "validator"), codeOf("hot1", "validator")];
  assertEquals(verdicts(), ["admitted", "wrongPhase", "admitted"]);
  await listed.head(3); // the permit may be of this block
  assertEquals(verdicts(), ["admitted", "wrongPhase", "admitted"], "the endpoint still lists block 2");
  listed.answer = () => ({ netuid: 9, block: 4, neurons: [neuron(0), neuron(1, { hasPermit: true })] });
  await listed.head(4);
  assertEquals(verdicts(), ["admitted", "notAdmitted", "admitted"]);

  await listed.head(5);
  assertEquals(listed.asked, 4, "not every block");
  listed.answer = () => {
    throw new ChainError("unreachable", "gone");
  };
  await listed.head(20);
  assertEquals(codeOf("hot0", "miner"), "admitted", "the last list counts");
  assertEquals(problems, ["no answer", "gone"]);
  stop();
  await listed.head(40);
  assertEquals(listed.asked, 5);
});

Deno.test("Admission: a chain that cannot be reached is named as the reason, and its list counts as soon as it answers", async () => {
  const problems: string[] = [];
  const onFailure = (error: unknown) => problems.push(`bug: ${error}`);
  const admission = new Admission({ network: "local", netuid: 9, onProblem() {}, onFailure });
  const check = () => admission.check({ node: "hot0", role: "miner" });
  assertMatch(check()!.detail, /subnet 9 of local is still being read; try again/);
  admission.chainIsUnreachable();
  assertEquals(check()!.code, "wrongPhase");
  assertMatch(check()!.detail, /the orchestrator cannot reach the chain with subnet 9 of local; try again/);
  const listed = new ListedChain();
  listed.newest = { block: 7, seenMs: 0 };
  listed.answer = () => ({ netuid: 9, block: 7, neurons: [neuron(0)] });
  const stop = admission.follow(listed.chain);
  await idle();
  assertEquals([check(), listed.asked, problems], [null, 1, []], "no block had to come");
  stop();
});

Deno.test("Admission: a newly registered node is asked to retry, and a stranger only once", async () => {
  const onFailure = (error: unknown) => {
    throw error;
  };
  const admission = new Admission({ network: "test", netuid: 9, onProblem() {}, onFailure });
  const listed = new ListedChain();
  const stop = admission.follow(listed.chain);
  const list = async (block: number, ...neurons: Neuron[]) => {
    listed.answer = () => ({ netuid: 9, block, neurons });
    await listed.head(block);
  };
  const check = (node: string) => admission.check({ node, role: "miner" });
  await list(100, neuron(0));
  for (const node of ["hot1", "hot7"]) {
    assertEquals(check(node)?.code, "wrongPhase", "a code after which a node comes again");
    assertMatch(check(node)!.detail, /register it: iota chain register .*; if that has just changed, .*try again/);
  }
  await list(101, neuron(0), neuron(1));
  assertEquals(listed.asked, 2, "the list is read again with the next block");
  assertEquals([check("hot1"), check("hot7")?.code], [null, "notAdmitted"]);
  assertMatch(check("hot7")!.detail, /iota chain register --netuid 9 --endpoint test --hotkey hot7/);
  for (let i = 0; i < 5_000; i++) check(`crowd-${i}`);
  await list(102, neuron(0), neuron(1));
  await list(103, neuron(0), neuron(1));
  assertEquals(
    [listed.asked, check("hot0")],
    [3, null],
    "a crowd of strangers has the list read once a block, at most",
  );
  stop();
});
