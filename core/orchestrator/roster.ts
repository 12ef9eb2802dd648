/**
 * Who takes part: joining, assignment to a stage, silence, loss, leaving.
 *
 * A newcomer goes to the stage with the fewest miners (its previous one if that still has room), loads the newest round's
 * parameters and is active at once when the round is still the same, else it is assigned again. A silent node keeps its work
 * for `disconnectGraceMs`; after that it is lost and its work goes to others.
 */

import { present } from "../assert.ts";
import { fault } from "../fault.ts";
import { type NodeId, type StageIndex, stageIndex } from "../ids.ts";
import type { Join, Ready } from "../protocol/message.ts";
import { reissueAuditsOf } from "./auditing.ts";
import { type OrchestratorEffect, record, reject, send } from "./event.ts";
import { leaveMerge } from "./merging.ts";
import { replaceUploader } from "./rounds.ts";
import { type Member, type OrchestratorState, replicasOf } from "./state.ts";
import { unseal } from "./steps.ts";
import { reissueWorkOf } from "./wiring.ts";

export function onJoin(
  state: OrchestratorState,
  options: { node: NodeId; message: Join },
): OrchestratorEffect[] {
  const { node, message } = options;
  if (state.expelled.has(node)) {
    return [{ type: "disconnect", node, fault: fault("notAdmitted", "this node was expelled from the run") }];
  }
  const old = state.members.get(node);
  const effects = old === undefined ? [] : loseNode(state, { node, reason: "it joined anew" });
  const member: Member = {
    node,
    role: message.role,
    adapter: message.adapter,
    previousStage: message.previousStage,
    status: "waiting",
    stage: null,
    assignment: 0,
    loadingRound: null,
    graceUntilMs: null,
    leases: new Set(),
    stepLeases: 0,
    stepTasks: [],
    roundTasks: 0,
  };
  if (message.role === "miner" && chooseStage(state, member) === null) {
    const most = state.config.limits.minersPerStage;
    return [
      ...effects,
      ...reject(node, fault("notAdmitted", `Cannot join as every stage has ${most} miners; try again later`)),
    ];
  }
  state.members.set(node, member);
  return [
    ...effects,
    record({ type: "nodeJoined", node, role: message.role, adapter: message.adapter }),
    send(node, { type: "welcome", config: state.config, layersOfStages: state.layersOfStages }),
  ];
}

/** The stage that needs a miner most; null when all are full. */
function chooseStage(state: OrchestratorState, member: Member): StageIndex | null {
  const counts = state.stages.map(() => 0);
  for (const other of state.members.values()) {
    if (other.stage !== null && other !== member) counts[other.stage] = (counts[other.stage] ?? 0) + 1;
  }
  const previous = member.previousStage;
  if (previous !== null && (counts[previous] ?? Infinity) < state.config.swarm.replicas) return previous;
  let best: number | null = null;
  for (const [stage, count] of counts.entries()) {
    if (count >= state.config.limits.minersPerStage) continue;
    if (best === null || count < present(counts[best], "a count a stage")) best = stage;
  }
  return best === null ? null : stageIndex(best);
}

/** Sends every waiting miner to a stage, with the newest parameters that can be fetched. */
export function assignWaiting(state: OrchestratorState): OrchestratorEffect[] {
  if (state.sources.round !== state.round || state.phase === "closing" || state.phase === "finished") return [];
  const effects: OrchestratorEffect[] = [];
  for (const member of state.members.values()) {
    if (member.role !== "miner" || member.status === "active") continue;
    const stage = member.stage ?? chooseStage(state, member);
    if (stage === null) continue;
    if (member.status === "loading" && member.loadingRound === state.round) continue;
    member.stage = stage;
    member.status = "loading";
    member.assignment = ++state.assignments;
    member.loadingRound = state.round;
    const source = present(state.sources.stages[stage], "a source a stage");
    effects.push(
      send(member.node, { type: "assign", assignment: member.assignment, stage, round: state.round, source }),
      record({ type: "nodeAssigned", node: member.node, stage, round: state.round }),
    );
  }
  return effects;
}

export function onReady(
  state: OrchestratorState,
  options: { member: Member; message: Ready },
): OrchestratorEffect[] {
  const { member, message } = options;
  if (member.status !== "loading" || message.assignment !== member.assignment || member.stage === null) return [];
  if (member.loadingRound !== state.round || state.phase === "merging") {
    member.status = "waiting"; // the round has moved on; the next checkpoint brings a new assignment
    return [];
  }
  const source = present(state.sources.stages[member.stage], "a source a stage");
  if (source.type === "blobs" && source.parameters.hash !== message.parameters.hash) {
    member.status = "waiting";
    const wrong = fault(
      "badBlob",
      `Cannot use stage ${member.stage} as its parameters must have the round's agreed hash`,
    );
    return reject(member.node, wrong);
  }
  member.status = "active";
  const { node, stage } = member;
  return [record({ type: "nodeReady", node, stage, round: state.round, parameters: message.parameters.hash })];
}

/** Starts the run when every stage has its replicas, or at least one after `gatherMs`. */
export function beginWhenGathered(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "gathering") return [];
  const counts = state.stages.map((spec) => replicasOf(state, spec.index).length);
  const isLate = !state.config.deterministic && nowMs >= present(state.gatherUntilMs, "a gathering deadline");
  const wanted = isLate ? 1 : state.config.swarm.replicas;
  if (counts.some((count) => count < wanted)) {
    if (isLate) state.gatherUntilMs = nowMs + state.config.swarm.gatherMs;
    return [];
  }
  state.gatherUntilMs = null;
  state.phase = "training";
  const started = record({
    type: "runStarted",
    step: state.step,
    round: state.round,
    stages: state.stages.length,
    miners: counts.reduce((a, b) => a + b, 0),
  });
  return [started];
}

// ------------------------------------------------------------------------------------------------- silence and loss

export function onDisconnected(
  state: OrchestratorState,
  options: { node: NodeId; nowMs: number },
): OrchestratorEffect[] {
  const member = state.members.get(options.node);
  if (member !== undefined) member.graceUntilMs = options.nowMs + state.config.limits.disconnectGraceMs;
  return [];
}

export function onReconnected(state: OrchestratorState, node: NodeId): OrchestratorEffect[] {
  const member = state.members.get(node);
  if (member !== undefined) member.graceUntilMs = null;
  return [];
}

/** Nodes whose silence is over the grace. */
export function silentNodes(state: OrchestratorState, nowMs: number): NodeId[] {
  return [...state.members.values()]
    .filter((member) => member.graceUntilMs !== null && member.graceUntilMs <= nowMs)
    .map((member) => member.node);
}

/** Forgets a node and hands everything it held to others. */
export function loseNode(
  state: OrchestratorState,
  options: { node: NodeId; reason: string },
): OrchestratorEffect[] {
  const { node, reason } = options;
  const member = state.members.get(node);
  if (member === undefined) return [];
  state.members.delete(node);
  const tasksReissued = reissueWorkOf(state, node);
  if (state.work !== null && tasksReissued > 0) unseal(state.work);
  reissueAuditsOf(state, node);
  replaceUploader(state, node);
  return [record({ type: "nodeLost", node, reason, tasksReissued }), ...leaveMerge(state, node)];
}
