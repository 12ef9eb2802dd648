/** Traces of a pipeline and of members that send wrong results. The files in traces/ are for reading. */

import { fault } from "../../core/fault.ts";
import type { BlobHash, NodeId } from "../../core/ids.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { taskOutput } from "../../core/model/stage_wires.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { commit, merging } from "../support/swarm/scripted_merge.ts";
import { assertTrace, Trace } from "../support/swarm/trace.ts";

Deno.test("Trace: a microbatch goes through three stages and back, and the step closes", () => {
  const hub = new ScriptedOrchestrator({
    model: { layers: 3 },
    pipeline: { stages: 3, codec: "none" },
    train: { microbatchesPerStep: 1, steps: 10, stepsPerRound: 5 },
    swarm: { replicas: 1, validators: 0 },
  });
  const trace = new Trace(hub);
  trace.note("Three miners join. Each loads the stage that it is assigned; with the last one the run begins.");
  const nodes = ["head", "middle", "tail"].map((name) => hub.ready(name));
  trace.note(
    "The forward passes the wire on to the tail, which does forward and backward. The backward returns to the head.",
  );
  hub.work(nodes);
  trace.note(
    "Each miner commits to the gradient over its one task. The last commitment closes the step and opens the next one.",
  );
  for (const node of nodes) hub.seal(node);
  assertTrace("microbatch_through_three_stages", trace);
});

function reduce(hub: ScriptedOrchestrator, nodes: readonly NodeId[], resultOf: (node: NodeId) => BlobHash): void {
  for (const node of nodes) {
    while (hub.inbox(node).some(({ type }) => type === "reduceSlice")) {
      const { round, edition, slice, inputs } = hub.take(node, "reduceSlice");
      const result = { hash: resultOf(node), bytes: inputs[0]!.payload.bytes };
      hub.tell(node, { type: "sliceReduced", round, edition, slice, result });
    }
  }
}

/** The orchestrator has reduced what it was asked for so far. */
function referee(hub: ScriptedOrchestrator, hash: BlobHash): void {
  for (const effect of hub.effects.splice(0)) {
    if (effect.type !== "refereeSlice") continue;
    const { round, edition, stage, slice, inputs } = effect;
    hub.step({
      type: "sliceRefereed",
      round,
      edition,
      stage,
      slice,
      result: { hash, bytes: inputs[0]!.payload.bytes },
    });
  }
}

Deno.test("Trace: of three replicas one reduces its slices to something else, and the orchestrator decides against it", () => {
  const { hub, nodes } = merging(3);
  const [liar] = nodes as [NodeId];
  const [right, wrong] = [hub.blob(64).hash, hub.blob(64).hash];
  const trace = new Trace(hub);
  trace.note(
    "Each replica commits its payload, which the orchestrator reads. It also reduces a secret share of the slices itself.",
  );
  for (const node of nodes) commit(hub, node);
  trace.note("Two replicas reduce each slice; miner-0 sends another result for all of its own.");
  reduce(hub, nodes, (node) => node === liar ? wrong : right);
  trace.note(
    "The orchestrator's own result decides: miner-0 is banned, and all slices are reduced again without its payload.",
  );
  referee(hub, right);
  trace.note("All results are the same now, and the two other replicas take the outer step.");
  const rest = nodes.filter((node) => node !== liar);
  reduce(hub, rest, () => right);
  referee(hub, right);
  assertTrace("merge_with_one_liar", trace);
});

/** Two stages of two replicas at the beginning of a step. */
function training() {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound: 2 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 1 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const heads = nodes.filter((node) => hub.state.members.get(node)!.stage === 0);
  return { hub, nodes, heads, tails: nodes.filter((node) => !heads.includes(node)) };
}

Deno.test("Trace: a wire of NaN is passed to nobody, another replica does the task, and the sender is blamed", () => {
  const { hub, nodes, heads: [liar] } = training();
  const trace = new Trace(hub);
  trace.note("The orchestrator checks the numbers of every wire. One that is not finite is passed to nobody.");
  const { task } = hub.take(liar!, "runTask");
  const segments = [hub.blob(wireBytes(taskOutput(hub.stages[0]!, "forward")!))];
  hub.tell(liar!, { type: "taskDone", task, losses: null, computeMs: 1 }, segments, NaN);
  trace.note(
    "The other replica does its own task, then the refused one. It succeeds, so the first result was the sender's fault.",
  );
  hub.work(nodes.filter((node) => node !== liar), { until: () => hub.count("blamed") > 0 });
  assertTrace("wire_of_nan", trace);
});

Deno.test("Trace: a miner that refuses an input which the orchestrator has checked is blamed, not the input's sender", () => {
  const { hub, heads, tails: [liar] } = training();
  const trace = new Trace(hub);
  trace.note("A head sends the output of its forward.");
  hub.work(heads, { until: () => hub.tasksOf(liar!).length > 0 });
  trace.note("The tail refuses it as an input, so another tail gets the task.");
  const { task } = hub.take(liar!, "runTask");
  hub.tell(liar!, { type: "taskFailed", task, fault: fault("badNumbers", "it holds NaN") });
  assertTrace("refused_input", trace);
});
