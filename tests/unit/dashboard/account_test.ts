/** What the port says of one member: from the signed log and the chain, exact, bounded, and without what is private. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import * as v from "valibot";
import { accountShape, earningsShape } from "../../../cli/observe/public/public_shape.ts";
import { pastPages } from "../../../cli/observe/dashboard/past_api.ts";
import { keepChainWeights, keptChainWeights, WeightsWatch } from "../../../cli/chain/duty/weights_file.ts";
import { earningsOf, runEarnings } from "../../../cli/observe/ledger/run_earnings.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { pastOf } from "../../../cli/observe/history/past.ts";
import { PastThread } from "../../../cli/observe/history/past_thread.ts";
import { nodeId } from "../../../core/ids.ts";
import { LocalChain } from "../../../chain/local/local_chain.ts";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { netuid } from "../../conformance/chain_world.ts";
import { miner, minerUid, populated, send, vote, voter } from "../../support/chain/small_subnet.ts";
import { recordLedger } from "../../support/ledger_folder.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const [right, wrong, validator] = [nodeId("5Right"), nodeId("5Wrong"), nodeId("5Validator")];

type Report = Extract<LogEntry, { type: "round" }>;

const weights = {
  block: 70,
  atMs: 5,
  validators: [{ hotkey: validator, setAtBlock: 66, weights: [{ hotkey: right, share: 1 }] }],
};

async function accountIn(folder: string, node: string) {
  const past = pastOf(folder);
  const json = await past.account(node);
  past.close();
  const account = json === null ? null : JSON.parse(json);
  if (account !== null) assertEquals(v.safeParse(accountShape, account).issues, undefined);
  return account;
}

Deno.test("Account: why a miner's reward is small, in numbers and in sentences", async () => {
  await withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const { rounds, checked, advice, sinceRound, role } = await accountIn(folder, wrong);
    assertEquals([role, sinceRound, rounds.length], ["miner", 0, 4]);
    const [, third, second] = rounds;
    assertEquals([third.round, third.earned, third.credited], [2, 9, 4.5]);
    assertEquals(third.reasons, ["half of the pay, because it missed a deadline of the merge"]);
    assertEquals([second.withheldBy, second.reasons], [[validator], []]);
    assertMatch(checked[0], /^Validators repeated 4 tasks: 3 passed, 1 failed\./);
    assertMatch(advice[0], /^Correct outputs: 1 validator withholds its pay until round 13/);
    const clean = await accountIn(folder, right);
    assertEquals(clean.rounds[0].shareOfScores > 0.6, true);
    assertEquals(await accountIn(folder, "5Nobody"), null);
  });
});

Deno.test("Account: a validator's own scores differ where it withholds, and its weights are those on the chain", async () => {
  await withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    assertEquals((await accountIn(folder, validator)).weights, null);
    await keepChainWeights(folder, weights);
    const { scores, weights: { given, setAtBlock }, checked } = await accountIn(folder, validator);
    assertEquals([scores.own, scores.round, checked], [1, 3, []]);
    assertEquals(scores.shares, [{ node: right, share: 1 }, { node: wrong, share: 0 }]);
    assertEquals([setAtBlock, given], [66, [{ node: right, share: 1 }]]);
    assertEquals((await accountIn(folder, right)).weights.received, [{ validator, share: 1 }]);
    const thread = new PastThread(folder, new ManualTimers());
    const answers = await Promise.all([thread.span(), thread.account(right), thread.pathway(1), thread.account(wrong)]);
    const expected = [await pastOf(folder).account(right), null, await pastOf(folder).account(wrong)];
    assertEquals(answers.slice(1), expected); // in order, although some take longer than others
    thread.close();
  });
});

Deno.test("Earnings: every miner's units, those of unvested rounds in escrow, none that were forfeited", async () => {
  await withScratchFolder(async (folder) => {
    assertEquals(await runEarnings(folder), null);
    await recordLedger(folder, { right, wrong, validator });
    const earnings = await runEarnings(folder);
    assertEquals(v.safeParse(earningsShape, earnings).issues, undefined);
    assertEquals(earnings, {
      ...{ sinceRound: 0, round: 3 }, // the last round: all is due
      miners: [{ node: right, earned: 72, inEscrow: 0 }, { node: wrong, earned: 31.5, inEscrow: 0 }],
    });
    const thread = new PastThread(folder, new ManualTimers());
    assertEquals(JSON.parse(await thread.earnings()), earnings);
    thread.close();
  });
  const report = (round: number, more: Partial<Report> = {}): Report => (
    { type: "round", round, miners: [right, wrong], units: [10, 5], halved: [], expelled: [], ...more }
  );
  const rounds = Array.from({ length: 6 }, (_, round) => report(round));
  assertEquals(earningsOf(rounds)?.miners, [
    { node: right, earned: 20, inEscrow: 40 }, // rounds 0 and 1 have vested after round 5
    { node: wrong, earned: 10, inEscrow: 20 },
  ]);
  const forfeits = [{ miner: right, fromRound: 3 }];
  assertEquals(earningsOf([...rounds, report(6, { forfeits, expelled: [wrong] })])?.miners, [
    { node: right, earned: 30, inEscrow: 0 },
    { node: wrong, earned: 15, inEscrow: 0 },
  ]);
});

Deno.test("Account: damage costs what was damaged, and nothing of a node's own machine is in it", async () => {
  await withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const path = `${folder}/ledger.jsonl`;
    const lines = (await Deno.readTextFile(path)).split("\n");
    const odd = [`{"line":1,"entry":{"type":"step"},"hash":"${"0".repeat(64)}"}`, "\u0000{", `{"lost":3}`];
    const left = `{"line":1,"entry":{"type":"left","node":"${wrong}","reason":"a/secret/path"},"hash":"${
      "0".repeat(64)
    }"}`;
    const blamed = left.replace('"left"', '"blamed","code":"x","detail":"a/secret/path"');
    await Deno.writeTextFile(path, [...lines.slice(0, 9), ...odd, left, blamed, ...lines.slice(9)].join("\n"));
    const account = await accountIn(folder, wrong);
    assertEquals(account.rounds.length, 4);
    assert(!JSON.stringify(account).includes("secret"));
    await keepChainWeights(folder, weights);
    await Deno.writeTextFile(`${folder}/chain/weights.json`, '{"block":1');
    assertEquals(await keptChainWeights(folder), null);
  });
});

Deno.test("Account: an address that is none is refused, and so is whoever asks all the time", async () => {
  await withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const timers = new ManualTimers();
    const past = pastOf(folder);
    const pages = pastPages(past, { timers, bytesPerSecond: 2 ** 20 });
    const ask = async (node: string) =>
      await pages["/api/v1/member"]!(
        new Request(`http://hub/api/v1/member?node=${encodeURIComponent(node)}`),
        "unknown",
      );
    for (const node of ["", "../../x", "a b", "x".repeat(65)]) assertEquals((await ask(node)).status, 400, node);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await ask(i === 1 ? "5Nobody" : right)).status);
    assertEquals(statuses, [200, 200, 200, 200, 503, 503]);
    past.close();
  });
});

Deno.test("Weights: validators' rows on a chain are kept as shares, read once a minute, and a failure is said once", async () => {
  await withScratchFolder(async (folder) => {
    const ledger = populated();
    assertEquals(send(ledger, vote([minerUid], [65_535]), voter.publicKey), null);
    const chain = new LocalChain({ ledger, netuid });
    const timers = new ManualTimers();
    const warnings: string[] = [];
    const watch = new WeightsWatch(chain, { folder, timers, warn: (text) => warnings.push(text) });
    await watch.look();
    const kept = await keptChainWeights(folder);
    const rows = kept?.validators.filter(({ weights }) => weights.length > 0); // the owner has a permit and set none
    assertEquals(rows?.map(({ hotkey, weights }) => [hotkey, weights]), [
      [encodeAddress(voter.publicKey), [{ hotkey: encodeAddress(miner.publicKey), share: 1 }]],
    ]);
    await chain.close();
    await watch.look();
    assertEquals(warnings, []);
    for (let i = 0; i < 3; i++) {
      timers.advance(60_000);
      await watch.look();
    }
    assertEquals([warnings.length, await keptChainWeights(folder)], [1, kept]);
    ledger.close();
  });
});
