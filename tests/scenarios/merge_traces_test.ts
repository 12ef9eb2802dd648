/** Traces of merges: calm ones, lost miners, lost rounds, and the end of a run. The files in traces/ are for reading. */

import type { NodeId } from "../../core/ids.ts";
import { commit, merging } from "../support/swarm/scripted_merge.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { evaluate } from "../support/swarm/scripted_rounds.ts";
import { assertTrace, Trace } from "../support/swarm/trace.ts";
import { applyAll, closeStep, commitAll, store, tracedSwarm } from "../support/swarm/traced_swarm.ts";

const train = { microbatchesPerStep: 1, stepsPerRound: 1 };

Deno.test("Trace: a calm merge and its checkpoint", () => {
  const { hub, nodes } = tracedSwarm(2, { train: { ...train, microbatchesPerStep: 2 } });
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  trace.note(
    "Each replica commits a payload, which the orchestrator reads. With a stage's last one it computes the mean.",
  );
  commitAll(hub, nodes);
  trace.note(
    "Every replica takes the outer step. The orchestrator's own result confirms theirs, and the round is merged.",
  );
  applyAll(hub, nodes);
  trace.note("Training continues while the checkpoint is written. Blobs that nothing refers to any more are deleted.");
  store(hub);
  assertTrace("calm_merge", trace);
});

Deno.test("Trace: one miner is lost in a merge before its payload, another one after it", () => {
  const { hub, nodes, headA, headB, tailA, tailB } = tracedSwarm(2, { train: { ...train, microbatchesPerStep: 2 } });
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  trace.note("head-a is gone before its payload, tail-a directly after.");
  hub.step({ type: "nodeDisconnected", node: headA });
  commit(hub, tailA);
  hub.step({ type: "nodeDisconnected", node: tailA });
  trace.note("The payload of tail-a still counts: stage 1 continues with the mean of both. Stage 0 waits for head-a.");
  commitAll(hub, [headB, tailB]);
  trace.note("After limits.disconnectGraceMs both are lost. Stage 0 continues with the payload of head-b alone.");
  hub.wait(5_000);
  trace.note("The replicas that are left take the outer step.");
  applyAll(hub, [headB, tailB]);
  assertTrace("lost_miners_in_merge", trace);
});

Deno.test("Trace: one payload of four is late, and the merge goes on without it", () => {
  const { hub, nodes } = merging(4, { train: { microbatchesPerStep: 4 }, outer: { reducers: "hub" } });
  const [late, ...others] = nodes;
  hub.reduced = hub.blob(64).hash;
  const trace = new Trace(hub);
  trace.note("Three of four replicas commit their payloads in time.");
  commitAll(hub, others);
  trace.note(
    "They are a quorum: miner-0 has limits.mergeGraceMs from here. After it the mean is computed without its payload.",
  );
  hub.wait(5_000);
  trace.note("Its payload comes too late and is refused. Its pay of the round is reduced.");
  commit(hub, late!);
  trace.note("It stays a replica: it takes the same outer step and gets tasks of the next round.");
  applyAll(hub, nodes);
  assertTrace("late_payload", trace);
});

Deno.test("Trace: a stage has no payload, and the run rolls back to the round's first step", () => {
  const { hub, nodes, headA, tailA } = tracedSwarm(1, { train });
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  trace.note("head-a, alone in its stage, cannot upload its payload. tail-a can.");
  refuseUpload(hub, headA);
  trace.note("The orchestrator's own upload succeeds, so head-a answers for the lost round: its pay is reduced.");
  commit(hub, tailA);
  trace.note("Both load the parameters of the round's start again, and the step is repeated with the same microbatch.");
  for (const node of nodes) hub.load(node);
  assertTrace("lost_round", trace);
});

Deno.test("Trace: a run that halts after lost rounds goes on when uploads succeed again", () => {
  const { hub, nodes } = tracedSwarm(1, { train });
  hub.refusal = "https://run.example answers 413 to an upload of 164,608 bytes";
  for (const pauseMs of [0, 60_000, 120_000]) {
    closeStep(hub, nodes);
    for (const node of nodes) refuseUpload(hub, node);
    for (const node of nodes) hub.load(node);
    hub.wait(pauseMs);
  }
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  trace.note(
    "A proxy before the orchestrator refuses all payloads. The fourth round in a row is lost, and the run halts.",
  );
  for (const node of nodes) refuseUpload(hub, node);
  trace.note("The miners load their stages and get no task.");
  for (const node of nodes) hub.load(node);
  trace.note("Every minute the orchestrator tries an upload to its own address.");
  hub.wait(60_000);
  trace.note("This one succeeds, and the round is repeated although its pause of 4 minutes is not over.");
  hub.refusal = null;
  hub.wait(60_000);
  assertTrace("halted_run", trace);
});

function refuseUpload(hub: ScriptedOrchestrator, node: NodeId): void {
  const { round } = hub.take(node, "startMerge");
  const upload = { status: 413, bytes: 164_608, clockMs: 0 };
  hub.tell(node, { type: "mergeFailed", round, fault: { code: "uploadFailed", detail: "it was refused", upload } });
}

Deno.test("Trace: a stage's only miner asks to leave, and goes after an early merge", () => {
  const { hub, nodes, headA } = tracedSwarm(1, { train: { ...train, stepsPerRound: 10 } });
  closeStep(hub, nodes);
  hub.work(nodes);
  const trace = new Trace(hub);
  trace.note("Nobody else holds what stage 0 has learned since the last merge, so head-a is needed. It may ask again.");
  hub.tell(headA, { type: "askToLeave" });
  hub.tell(headA, { type: "askToLeave" });
  trace.note("The round, planned for 10 steps, ends with the open one.");
  closeStep(hub, nodes);
  trace.note("The merge contains its work.");
  commitAll(hub, nodes);
  trace.note("When the merge is over, its session ends. Its goodbye may arrive later and is not a fault.");
  applyAll(hub, nodes);
  hub.tell(headA, { type: "leaving", reason: "its owner" });
  trace.note("It may join again and waits, as any newcomer does, until the merged parameters are stored.");
  hub.join(headA);
  store(hub);
  assertTrace("leaving_miner", trace);
});

Deno.test("Trace: the last merge, its evaluation, and the end of the run", () => {
  const { hub, nodes, judges } = tracedSwarm(1, { train: { ...train, steps: 1 }, swarm: { validators: 1 } });
  evaluate(hub, judges, () => 4);
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  trace.note("All steps are done, and both stages commit their payloads to the last merge.");
  commitAll(hub, nodes);
  trace.note("The round is merged. No step opens; validators get the work report, from which scores follow.");
  applyAll(hub, nodes);
  trace.note("With the checkpoint stored, a validator evaluates the final parameters.");
  store(hub);
  trace.note("Nothing else is open: the last report goes out, and everybody is told to stop.");
  evaluate(hub, judges, () => 2);
  assertTrace("end_of_run", trace);
});
