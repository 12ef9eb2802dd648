/** The rule from a repetition to a verdict, and how a verdict's action reaches pay, the roster and every validator. */

import { assertEquals } from "@std/assert";
import { nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import { actOnVerdict } from "../../../core/orchestrator/audit/verdict_actions.ts";
import { inconclusive, judgeAsReferee, judgeRepetition, type Verdict } from "../../../core/score/verdict.ts";
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

Deno.test("Verdict: the orchestrator's repetition proves a lie, or that there was none, only beyond what rounding explains", () => {
  for (
    const [innovationError, lossError, rounding, expected] of [ // the rest of the error is beyond rounding
      [0, null, 0, "honest"],
      [0.025, 0.025, 0, "honest"],
      [0.015, null, 0.011, "unclear"], // rounding may have brought it above half the tolerance, or a validator's
      [0.026, null, 0, "unclear"],
      [0.05, 0.05, 0, "unclear"],
      [0.051, null, 0, "madeUp"],
      [0.48, null, 0.1, "madeUp"],
      [0.48, null, 0.44, "unclear"],
      [0, 0.051, 1e6, "madeUp"],
      [1, null, 0.5, "madeUp"],
      [1, null, 0.96, "unclear"],
      [1e6, null, 1e6, "unclear"], // the stage changed nothing
      [NaN, null, 0, "unclear"],
    ] as const
  ) {
    const beyondRounding = Math.max(0, innovationError - rounding);
    const found = { innovationError, equalShare: 0, lossError, beyondRounding, rounding };
    assertEquals(judgeAsReferee(found, 0.05), expected, JSON.stringify(found));
  }
  assertEquals(
    judgeAsReferee({ ...judged(0.8, null).evidence!, beyondRounding: 0.8, rounding: 0 }, 1),
    "unclear",
    "a run may tolerate more",
  );
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
  for (const effect of [...hub.effects]) { // two of three are not a majority, so the orchestrator takes the step itself
    if (effect.type !== "refereeMerge") continue;
    const { round, stage, slices } = effect;
    hub.step({ type: "mergeRefereed", round, stage, slices, ...merged });
  }
  return hub;
}

Deno.test("Verdict: a ban reaches roster, pay and every validator", () => {
  const hub = actingOn({ ...judged(1, null), action: "expel" });
  const report = hub.take(nodeId("validator"), "workReport");
  assertEquals(hub.state.members.has(task.miner), false);
  assertEquals([report.miners.includes(task.miner), report.expelled], [false, [task.miner]]);
  assertEquals([hub.count("verdict"), hub.state.facts.verdictsFailed], [1, 1]);
});

Deno.test("Verdict: what one validator withholds costs neither place nor pay at the orchestrator", () => {
  const hub = actingOn(judged(1, null));
  const report = hub.take(nodeId("validator"), "workReport");
  assertEquals(hub.state.members.has(task.miner), true);
  assertEquals([report.miners.includes(task.miner), report.expelled], [true, []]);
  assertEquals([hub.count("verdict"), hub.state.facts.verdictsFailed], [1, 1]);
});
