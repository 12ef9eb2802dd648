/** The rule from a repetition to a verdict, and how a verdict's action reaches pay, the roster and every validator. */

import { assertEquals } from "@std/assert";
import { nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import { actOnVerdict } from "../../../core/orchestrator/audit/verdict_actions.ts";
import { inconclusive, judgeRepetition, type Verdict } from "../../../core/score/verdict.ts";
import { ScriptedOrchestrator } from "../../support/swarm/scripted_orchestrator.ts";
import { commit, merging, reduceAll } from "../../support/swarm/scripted_merge.ts";

const task = { round: 0, miner: nodeId("miner-0"), stage: stageIndex(0), task: "0.0.forward.0" as TaskId };
const judged = (innovationError: number, lossError: number | null) =>
  judgeRepetition(task, { found: { innovationError, equalShare: 1, lossError }, tolerance: 0.05 });

Deno.test("Verdict: a repetition passes up to the tolerance, in output and losses, and fails beyond it", () => {
  for (
    const [innovationError, lossError, type, score, action] of [
      [0, null, "passed", 1, "none"],
      [0.05, 0.05, "passed", 1, "none"],
      [0.0501, null, "failed", 0, "withholdPay"],
      [0, 0.06, "failed", 0, "withholdPay"],
      [NaN, null, "failed", 0, "withholdPay"],
    ] as const
  ) {
    const verdict = judged(innovationError, lossError);
    assertEquals([verdict.type, verdict.score, verdict.action], [type, score, action]);
  }
});

Deno.test("Verdict: only what the hub repeated itself expels, and only an error that no rounding explains", () => {
  const byHub = (innovationError: number, lossError: number | null, tolerance = 0.05) =>
    judgeRepetition(task, { found: { innovationError, equalShare: 0, lossError }, tolerance, isReferee: true }).action;
  assertEquals([byHub(0.05, null), byHub(0.5, 0.5), byHub(0.51, null), byHub(0, 0.51)], [
    "none",
    "withholdPay",
    "expel",
    "expel",
  ]);
  assertEquals(byHub(0.8, null, 1), "none", "a run may tolerate more");
  assertEquals(judged(1e6, 10).action, "withholdPay");
});

Deno.test("Verdict: a task that nobody could repeat is not held against its miner", () => {
  const { type, score, action, evidence } = inconclusive(task, "nobody could");
  assertEquals({ type, score, action, evidence }, { type: "inconclusive", score: 1, action: "none", evidence: null });
});

function actingOn(verdict: Verdict): ScriptedOrchestrator {
  const { hub, nodes } = merging(4); // one may go, and the rest is still a majority
  const judge = hub.validator("validator");
  hub.inbox(judge).length = 0;
  const effects = actOnVerdict(hub.state, { verdict, validator: judge });
  hub.records.push(...effects.flatMap((effect) => effect.type === "record" ? [effect.record] : []));
  hub.step({ type: "tick" });
  const left = nodes.filter((node) => hub.state.members.has(node));
  for (const node of left) commit(hub, node);
  reduceAll(hub, left);
  const merged = { parameters: hub.blob(64), momentum: null };
  for (const node of left) hub.tell(node, { type: "mergeApplied", round: 1, ...merged });
  for (const effect of [...hub.effects]) { // two of three are no majority, so the hub takes the step itself
    if (effect.type !== "refereeMerge") continue;
    const { round, stage } = effect;
    hub.step({ type: "mergeRefereed", round, stage, ...merged });
  }
  return hub;
}

Deno.test("Verdict: an expulsion reaches roster, pay and every validator", () => {
  const hub = actingOn({ ...judged(1, null), action: "expel" });
  const report = hub.take(nodeId("validator"), "workReport");
  assertEquals(hub.state.members.has(task.miner), false);
  assertEquals([report.miners.includes(task.miner), report.expelled], [false, [task.miner]]);
  assertEquals([hub.count("verdict"), hub.state.facts.verdictsFailed], [1, 1]);
});

Deno.test("Verdict: what one validator withholds costs neither place nor pay at the hub", () => {
  const hub = actingOn(judged(1, null));
  const report = hub.take(nodeId("validator"), "workReport");
  assertEquals(hub.state.members.has(task.miner), true);
  assertEquals([report.miners.includes(task.miner), report.expelled], [true, []]);
  assertEquals([hub.count("verdict"), hub.state.facts.verdictsFailed], [1, 1]);
});
