/**
 * Moves a miner from the stage with most capacity to the one with least, at the edge of a round, where nothing of it is under
 * way: its round has just been merged. At most one miner a round, and only if the slower of the two stages becomes faster.
 */

import { type StageIndex, stageIndex } from "../ids.ts";
import { type OrchestratorEffect, record } from "./event.ts";
import { capacityOf, rosterOf, setStage, unitMsOf } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { Member, OrchestratorState } from "./state.ts";

const worthMoving = 4 / 3; // of the largest capacity to the smallest
const leastMeasured = 1; // replicas of a stage that have shown their pace

export function rebalance(state: OrchestratorState): OrchestratorEffect[] {
  if (state.config.deterministic) return [];
  const stages = state.stages.map((spec) => stageIndex(spec.index));
  if (stages.some((stage) => !isMeasured(state, stage))) return [];
  const capacities = stages.map((stage) => ({ stage, capacity: capacityOf(state, stage) }));
  const richest = capacities.reduce((best, each) => each.capacity > best.capacity ? each : best);
  const poorest = capacities.reduce((best, each) => each.capacity < best.capacity ? each : best);
  if (richest.capacity <= worthMoving * poorest.capacity) return [];
  const mover = bestMover(state, { from: richest, to: poorest });
  if (mover === null) return [];
  benchMember(state, mover);
  setStage(state, mover, poorest.stage);
  mover.previousStage = poorest.stage;
  return [record({ type: "nodeMoved", node: mover.node, from: richest.stage, to: poorest.stage })];
}

function isMeasured(state: OrchestratorState, stage: StageIndex): boolean {
  return rosterOf(state, stage).members.filter((member) => member.unitMs !== null).length >= leastMeasured;
}

interface StageCapacity {
  readonly stage: StageIndex;
  readonly capacity: number;
}

/** The replica whose move lifts the slower of the two stages most; null when none lifts it. */
function bestMover(
  state: OrchestratorState,
  { from, to }: { from: StageCapacity; to: StageCapacity },
): Member | null {
  const roster = rosterOf(state, from.stage);
  if (roster.members.length < 2 || rosterOf(state, to.stage).assigned >= state.config.limits.minersPerStage) {
    return null;
  }
  let best: { member: Member; slower: number } | null = null;
  for (const member of roster.members) {
    if (member.graceUntilMs !== null) continue;
    const own = 1 / unitMsOf(roster, member);
    const slower = Math.min(from.capacity - own, to.capacity + own);
    if (slower > (best?.slower ?? to.capacity)) best = { member, slower };
  }
  return best?.member ?? null;
}
