/** A small swarm for traces: two stages, miners named after their stage, and the answers that honest members give. */

import type { NodeId } from "../../../core/ids.ts";
import type { Holding } from "../../../core/protocol/message.ts";
import type { TinyOverrides } from "../tiny_model.ts";
import { commit } from "./scripted_merge.ts";
import { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

const names = ["head-a", "tail-a", "head-b", "tail-b"];

/** One or two replicas a stage, all ready. The orchestrator computes every mean alone, and audits happen where a test asks for them. */
export function tracedSwarm(replicas: 1 | 2, { train, swarm, limits, validate, ...others }: TinyOverrides = {}) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 2 },
    pipeline: { stages: 2, codec: "none" },
    outer: { reducers: "hub" },
    validate: { replaysPerMiner: 0, statesPerRound: 0, ...validate },
    ...others,
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound: 10, ...train },
    swarm: { replicas, validators: 0, ...swarm },
    limits: { leaseMs: 60_000, mergePhaseMs: 60_000, mergeGraceMs: 5_000, leasesPerMiner: 2, ...limits },
  });
  hub.reduced = hub.blob(64).hash;
  const judges = Array.from({ length: swarm?.validators ?? 0 }, (_, i) => hub.validator(`validator-${i}`));
  const nodes = names.slice(0, 2 * replicas).map((name) => hub.ready(name));
  for (const node of nodes) {
    const stage = hub.state.members.get(node)!.stage;
    if (stage !== (node.startsWith("head") ? 0 : 1)) throw new Error(`${node} has stage ${stage}`);
  }
  const [headA, tailA, headB, tailB] = nodes as [NodeId, NodeId, NodeId, NodeId];
  return { hub, judges, nodes, headA, tailA, headB, tailB };
}

/** These do all their tasks and commit, until the step closes or nothing is left for them. */
export function closeStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const { step } = hub.state;
  for (let isBusy = true; isBusy && hub.state.step === step && hub.state.phase === "training";) {
    hub.work(nodes, { until: () => hub.state.step > step });
    const able = nodes.filter((node) => hub.maySeal(node));
    for (const node of able) hub.seal(node);
    isBusy = able.length > 0;
  }
}

export function commitAll(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  for (const node of nodes) commit(hub, node);
}

/** These and the orchestrator take the outer step, with one result a stage. */
export function applyAll(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const { round } = hub.state;
  const merged = hub.stages.map(() => ({ parameters: hub.blob(64), momentum: null }));
  for (const { node, stage } of nodes.map((node) => ({ node, stage: hub.state.members.get(node)!.stage! }))) {
    hub.take(node, "applyMerge");
    hub.tell(node, { type: "mergeApplied", round: round + 1, ...merged[stage]! });
  }
  for (const effect of [...hub.effects]) {
    if (effect.type !== "refereeMerge" || effect.round !== round) continue;
    const { stage, slices } = effect;
    hub.step({ type: "mergeRefereed", round, stage, slices, ...merged[stage]! });
  }
}

/** The checkpoint of the round merged last is written. */
export function store(hub: ScriptedOrchestrator): void {
  const { round } = hub.state.upload!;
  hub.step({ type: "checkpointWritten", round, folder: `round-${round}` });
}

/** What the member's process holds of the open round. */
export function holdingOf(hub: ScriptedOrchestrator, node: NodeId): Holding {
  const { assignment, header, stepTasks } = hub.state.members.get(node)!;
  return { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [...stepTasks] };
}

/** A new session after a broken link, 100 ms later. The messages on the way are lost. */
export function comeBack(hub: ScriptedOrchestrator, node: NodeId, holding?: Holding): void {
  hub.step({ type: "nodeDisconnected", node });
  hub.inbox(node).length = 0;
  hub.wait(100);
  hub.join(node, holding === undefined ? {} : { holding });
}
