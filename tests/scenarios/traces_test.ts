/** Scenarios as whole traces of the orchestrator machine: the files in traces/ are for reading. */

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
  trace.note("Three miners join, and each loads the stage it is given.");
  const nodes = ["head", "middle", "tail"].map((name) => hub.ready(name));
  trace.note("Forward to the tail, which turns around, and backward to the head.");
  hub.work(nodes);
  trace.note("Each confirms a gradient over its one task; with the last one the step closes and the next one opens.");
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

/** The hub has reduced what it was asked for so far. */
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

Deno.test("Trace: of three replicas one reduces its slices to something else, and the hub decides against it", () => {
  const { hub, nodes } = merging(3);
  const [liar] = nodes as [NodeId];
  const [right, wrong] = [hub.blob(64).hash, hub.blob(64).hash];
  const trace = new Trace(hub);
  trace.note(
    "Each replica commits its payload, which the hub reads. It also reduces a share of the slices itself, in secret.",
  );
  for (const node of nodes) commit(hub, node);
  trace.note("Two replicas reduce each slice; miner-0 sends another result for all of its own.");
  reduce(hub, nodes, (node) => node === liar ? wrong : right);
  trace.note("The hub's own result is what counts: miner-0 leaves, and all is reduced again without its payload.");
  referee(hub, right);
  trace.note("Now all say the same, and both that are left are asked to take the outer step.");
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

Deno.test("Trace: a wire of NaN goes nowhere, another replica does the task, and its sender is blamed", () => {
  const { hub, nodes, heads: [liar] } = training();
  const trace = new Trace(hub);
  trace.note("The hub sees the numbers of every wire; what is not finite goes to nobody.");
  const { task } = hub.take(liar!, "runTask");
  const segments = [hub.blob(wireBytes(taskOutput(hub.stages[0]!, "forward")!))];
  hub.tell(liar!, { type: "taskDone", task, losses: null, computeMs: 1 }, segments, NaN);
  trace.note(
    "The other replica does its own task, then the one that was refused. It can be done, so the first was wrong.",
  );
  hub.work(nodes.filter((node) => node !== liar), { until: () => hub.count("blamed") > 0 });
  assertTrace("wire_of_nan", trace);
});

Deno.test("Trace: who refuses an input that the hub has checked is blamed, not the miner that made it", () => {
  const { hub, heads, tails: [liar] } = training();
  const trace = new Trace(hub);
  trace.note("A head sends a wire on.");
  hub.work(heads, { until: () => hub.tasksOf(liar!).length > 0 });
  trace.note("The tail says it cannot be used.");
  const { task } = hub.take(liar!, "runTask");
  hub.tell(liar!, { type: "taskFailed", task, fault: fault("badNumbers", "it holds NaN") });
  assertTrace("refused_input", trace);
});
