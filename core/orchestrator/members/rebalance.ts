/**
 * Moves miners between stages when a round has just been merged. First the floor: a stage with fewer than two replicas
 * cannot check itself and is lost with the next miner. Then the pace: one miner per round goes to the stage with the
 * least capacity. Paces are noisy and a moved miner loses its optimizer's moments, so the gap must be large, last for
 * two rounds, and not be reversed by the move.
 *
 * A stage without replicas gets a miner at once, because the run stalls.
 */

import { present } from "../../assert.ts";
import { type NodeId, type StageIndex, stageIndex } from "../../ids.ts";
import { isResting } from "./blame.ts";
import { speedOf, stageCapacities, type StageCapacity } from "./capacity.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { reissueWorkOf } from "../step/leases.ts";
import { replicasOf, rosterOf, setAway, setBack, setStage } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { fits } from "./unfit.ts";
import { replaceUploader } from "../merge/uploads.ts";

/** Two can reduce each other's slices, and one of them may leave. */
export const floorReplicas = 2;
const worthMoving = 4 / 3; // ratio of the largest capacity to the smallest
const restRounds = 8; // from one move of a miner, or between two stages, to the next
const leastResults = 32; // of a replica before its pace is trusted
const leastMeasured = 2 / 3; // of a stage's replicas

export function rebalance(state: OrchestratorState): OrchestratorEffect[] {
  if (state.config.deterministic) return [];
  const raised = raiseFloor(state);
  return raised.length > 0 ? raised : level(state);
}

function raiseFloor(state: OrchestratorState): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const spec of state.stages) {
    const to = stageIndex(spec.index);
    while (rosterOf(state, to).assigned < Math.min(floorReplicas, state.config.limits.minersPerStage)) {
      const mover = spareReplica(state, to);
      if (mover === null) return effects;
      effects.push(...move(state, mover, to));
    }
  }
  return effects;
}

/** From the stage with the most miners: one that has not moved lately, otherwise the slowest. */
function spareReplica(state: OrchestratorState, to: StageIndex): Member | null {
  const donors = stageCapacities(state).map(({ stage, assigned }) => ({
    assigned,
    free: movable(state, stage).filter((member) => fits(member, to)),
  }))
    .filter(({ assigned, free }) => assigned > floorReplicas && free.length > 0);
  const [first, ...others] = donors;
  if (first === undefined) return null;
  const { free } = others.reduce((best, each) => each.assigned > best.assigned ? each : best, first);
  const rank = (member: Member) => [isRested(state, member.movedRound) ? 0 : 1, speedOf(state, member)] as const;
  return free.reduce((best, each) => {
    const [a, b] = [rank(each), rank(best)];
    return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? each : best;
  });
}

const movable = (state: OrchestratorState, stage: StageIndex): Member[] =>
  replicasOf(state, stage).filter((member) => member.graceUntilMs === null);

function level(state: OrchestratorState): OrchestratorEffect[] {
  const capacities = stageCapacities(state);
  const richest = capacities.reduce((best, each) => each.active > best.active ? each : best);
  const poorest = capacities.reduce((best, each) => each.expected < best.expected ? each : best);
  const wasPoorest = state.poorest === poorest.stage;
  const isGap = richest.active > worthMoving * poorest.expected &&
    capacities.every(({ stage }) => isMeasured(state, stage));
  state.poorest = isGap ? poorest.stage : null;
  if (!isGap || !wasPoorest || !mayMove(state, { from: richest, to: poorest })) return [];
  const mover = bestMover(state, { from: richest, to: poorest });
  return mover === null ? [] : move(state, mover, poorest.stage);
}

interface Ends {
  readonly from: StageCapacity;
  readonly to: StageCapacity;
}

function mayMove(state: OrchestratorState, { from, to }: Ends): boolean {
  const stages = [from, to].map(({ stage }) => rosterOf(state, stage));
  return from.assigned > floorReplicas && to.assigned < state.config.limits.minersPerStage &&
    stages.every(({ movedRound }) => isRested(state, movedRound));
}

function isMeasured(state: OrchestratorState, stage: StageIndex): boolean {
  const { members } = rosterOf(state, stage);
  const measured = members.filter((member) => member.results >= leastResults).length;
  return measured > 0 && measured >= leastMeasured * members.length;
}

const isRested = (state: OrchestratorState, movedRound: number | null): boolean =>
  movedRound === null || Math.abs(state.round - movedRound) >= restRounds;

/** The replica whose move helps the slower of the two stages most; null if none is worth it. */
function bestMover(state: OrchestratorState, { from, to }: Ends): Member | null {
  let best: { member: Member; slower: number; speed: number } | null = null;
  for (const member of movable(state, from.stage)) {
    if (member.results < leastResults || !isRested(state, member.movedRound) || !fits(member, to.stage)) continue;
    const speed = speedOf(state, member);
    const left = from.active - speed / from.cost;
    const brings = Math.min(speed, to.meanSpeed) / to.cost; // the stage may be slow, not its miners
    const slower = Math.min(left, to.expected + brings);
    const isGain = slower >= to.expected + brings / 2 && to.expected + speed / to.cost <= worthMoving * left;
    if (!isGain) continue;
    const isBetter = best === null || slower > best.slower || (slower === best.slower && speed < best.speed);
    if (isBetter) best = { member, slower, speed };
  }
  return best?.member ?? null;
}

function move(state: OrchestratorState, member: Member, to: StageIndex): OrchestratorEffect[] {
  const from = present(member.stage, "a mover has a stage");
  benchMember(state, member);
  setStage(state, member, to);
  member.previousStage = to;
  member.results = 0;
  member.forwardMs = member.steadyMs = null;
  member.movedRound = state.round;
  for (const stage of [from, to]) rosterOf(state, stage).movedRound = state.round;
  state.poorest = null;
  return [record({ type: "nodeMoved", node: member.node, from, to })];
}

export function coverStages(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  return state.phase === "training" ? coverDeserted(state, nowMs) : [];
}

/** Also used before the run begins: late miners may have joined stages that did not need them. */
export function coverDeserted(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const empty = state.rosters.findIndex((_, stage) => isDeserted(state, { stage: stageIndex(stage), nowMs }));
  if (empty === -1 || [...state.waiting].some((node) => isComing(state, { node, stage: empty }))) return [];
  const mover = leastMissed(state, empty);
  if (mover === null) return [];
  const effects: OrchestratorEffect[] = [];
  if (mover.leases.size > 0) effects.push(send(mover.node, { type: "cancelTasks", tasks: [...mover.leases] }));
  setAway(state, mover, nowMs); // only for this call: none of its work may return to it
  reissueWorkOf(state, mover);
  setBack(state, mover);
  replaceUploader(state, mover.node);
  return [...effects, ...move(state, mover, stageIndex(empty))];
}

function isDeserted(state: OrchestratorState, { stage, nowMs }: { stage: StageIndex; nowMs: number }): boolean {
  const { assigned, members } = rosterOf(state, stage);
  if (assigned === 0 || members.length > 0) return assigned === 0;
  for (const member of state.members.values()) {
    if (member.stage === stage && (member.status !== "loading" || nowMs < member.loadLateMs)) return false;
  }
  return true;
}

/** The member waits for any stage, and gets this one if no other needs it more. */
function isComing(state: OrchestratorState, { node, stage }: { node: NodeId; stage: number }): boolean {
  const member = state.members.get(node);
  return member?.stage === null && fits(member, stage) && !isResting(state, node);
}

/**
 * From the stage with the most connected miners: one not working yet, otherwise the one with the least work to redo.
 */
function leastMissed(state: OrchestratorState, to: number): Member | null {
  const connected = state.rosters.map((): Member[] => []);
  for (const member of state.members.values()) {
    if (member.stage !== null && member.graceUntilMs === null) connected[member.stage]?.push(member);
  }
  const most = connected.reduce((best, each) => each.length > best.length ? each : best);
  const able = most.filter((member) => fits(member, to));
  if (most.length < 2 || able.length === 0) return null;
  const cost = (member: Member) => member.status === "active" ? 1 + member.stepTasks.length + member.roundTasks : 0;
  return able.reduce((best, each) => cost(each) < cost(best) ? each : best);
}
