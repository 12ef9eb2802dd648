/** Rounds of two steps on the scripted orchestrator; it asks every miner to open its parameters of the second step. */

import type { MachineEntry } from "../../../core/ledger/entry.ts";
import { changeBytes } from "../../../core/update/shown_change.ts";
import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../../core/ids.ts";
import type { OpenOptions, OrchestratorState } from "../../../core/orchestrator/state.ts";
import { entryOf } from "../../../core/orchestrator/run_log.ts";
import type { PayloadStats } from "../../../core/update/payload_stats.ts";
import { commit, passWait, reduceAll } from "./scripted_merge.ts";
import { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

/** One stage of two replicas and a validator that never answers; every second step of two is drawn for everybody. */
export function drawn(
  { stepsPerRound = 2, microbatchesPerStep = 4, steps = 42 } = {},
  open?: (options: OpenOptions) => OrchestratorState,
) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    validate: { statesPerRound: 1000 },
    train: { microbatchesPerStep, steps, stepsPerRound },
    swarm: { replicas: 2, validators: 1 },
    limits: { mergePhaseMs: 600_000, mergeGraceMs: 5_000, leaseMs: 600_000 },
  }, open);
  hub.validator("judge");
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")] as [NodeId, NodeId];
  return { hub, nodes };
}

/** Two stages of two replicas and a validator that never answers; every later step is drawn for everybody. */
export function drawnInStages(train: { steps: number; stepsPerRound: number }) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 2 },
    pipeline: { stages: 2, codec: "none" },
    validate: { statesPerRound: 1000, replaysPerMiner: 100 },
    train: { microbatchesPerStep: 8, ...train },
    swarm: { replicas: 2, validators: 1 },
    limits: { mergePhaseMs: 600_000, leaseMs: 600_000 },
  });
  hub.validator("judge");
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  return {
    hub,
    nodes,
    ofStage: (stage: number) => nodes.filter((node) => hub.state.members.get(node)?.stage === stage),
  };
}

/** Whatever these are given of the open round. */
export function finishTraining(
  hub: ScriptedOrchestrator,
  nodes: readonly NodeId[],
  isOver = () => hub.state.phase !== "training",
): void {
  while (!isOver()) {
    hub.work(nodes);
    for (const node of nodes) if (hub.maySeal(node)) hub.seal(node);
  }
}

/** The round's two steps; returns the drawn one. */
export function train(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): number {
  for (let i = 0; i < 2; i++) {
    hub.work(nodes);
    for (const node of nodes) hub.seal(node);
  }
  for (const node of nodes) {
    const asked = [hub.take(node, "applyStep"), hub.take(node, "applyStep")];
    assertEquals(asked.map(({ shows }) => shows), [false, true]);
  }
  return hub.state.step - 1;
}

/** `before` is done when only the last replica has not told what it merged. */
export function merge(hub: ScriptedOrchestrator, nodes: readonly NodeId[], before = () => {}): void {
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  passWait(hub);
  for (const node of nodes) hub.inbox(node).length = 0;
  const merged = { parameters: hub.blob(64), momentum: null };
  const round = hub.state.round + 1;
  for (const node of nodes) {
    if (node === nodes.at(-1)) before();
    hub.tell(node, { type: "mergeApplied", round, ...merged });
  }
  const { asked } = hub.state.upload!.stages[0]!;
  hub.tell(asked as NodeId, { type: "parametersUploaded", round, ...merged });
  hub.step({ type: "checkpointWritten", round, folder: "" });
}

export function show(hub: ScriptedOrchestrator, node: NodeId, step: number) {
  const round = hub.state.audit.awaited.get(node)?.find((each) => each.step === step)?.round ?? hub.state.round;
  const change = hub.blob(changeBytes(hub.state.stageFloats[0]!));
  hub.tell(node, { type: "stateShown", round, step, change });
  return change;
}

export function check(
  hub: ScriptedOrchestrator,
  node: NodeId,
  way: PayloadStats | null,
  sketch: readonly number[] | null = null,
): void {
  const asked = hub.effects.findLast((effect) => effect.type === "checkState");
  assert(asked?.type === "checkState" && asked.node === node, "the orchestrator checks the opened parameters");
  hub.step({ type: "stateChecked", round: asked.round, step: asked.step, node, way, sketch });
}

export const fine: PayloadStats = { isFinite: true, squareSum: 1e-6, largest: 1e-6 };
export const replaysWith = (hub: ScriptedOrchestrator, hash: string) =>
  [...hub.state.audit.queue.groups.values()].flatMap(({ requests }) => requests)
    .filter(({ request }) => request.type === "replay" && request.replay.change?.hash === hash).length;
export const faultsOf = (hub: ScriptedOrchestrator, node: NodeId) =>
  hub.records.filter((record) => (record.type === "faultSeen" || record.type === "blamed") && record.node === node)
    .length;
/** The rounds of the kept reports that pay the node. */
export const paidRounds = (hub: ScriptedOrchestrator, node: NodeId) =>
  hub.state.reports.filter(({ units }) => (units.get(node) ?? 0) > 0).map(({ round }) => round);
export const paidInLastRound = (hub: ScriptedOrchestrator, node: NodeId) =>
  (hub.state.reports.at(-1)!.units.get(node) ?? 0) > 0;

/** The node shows all that it is asked for, and it is fine. */
export function showAll(hub: ScriptedOrchestrator, node: NodeId): void {
  for (const { step } of [...hub.state.audit.awaited.get(node) ?? []]) {
    show(hub, node, step);
    check(hub, node, fine);
  }
}

/** Rounds in which everybody shows what it is asked for. */
export function rounds(hub: ScriptedOrchestrator, nodes: readonly NodeId[], count: number): void {
  for (let round = 0; round < count; round++) {
    const step = train(hub, nodes);
    for (const node of nodes) {
      show(hub, node, step);
      check(hub, node, fine);
    }
    merge(hub, nodes);
  }
}

/** The entries of its log from now on. */
export function logOf(hub: ScriptedOrchestrator): MachineEntry[] {
  const entries: MachineEntry[] = [];
  const { watch } = hub;
  hub.watch = (event, effects) => {
    watch(event, effects);
    for (const effect of effects) {
      const entry = effect.type === "log" ? effect.entry : effect.type === "record" ? entryOf(effect.record) : null;
      if (entry !== null) entries.push(entry);
    }
  };
  return entries;
}
