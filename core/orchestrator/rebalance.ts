/**
 * Moves miners between stages.
 *
 * From the stage with most capacity to the one with least, at the edge of a round, where nothing of the miner is under way: its
 * round has just been merged. At most one miner a round, and only if the slower of the two stages becomes faster. And at once to
 * a stage that has lost everybody, since the run stands still without it: what the miner had of the open step is done again.
 */

import { present } from "../assert.ts";
import { type StageIndex, stageIndex } from "../ids.ts";
import { type OrchestratorEffect, record, send } from "./event.ts";
import { reissueWorkOf } from "./leases.ts";
import { capacityOf, unitMsOf } from "./pace.ts";
import { rosterOf, setAway, setBack, setStage } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { Member, OrchestratorState } from "./state.ts";
import { fits } from "./unfit.ts";
import { replaceUploader } from "./uploads.ts";

const worthMoving = 4 / 3; // of the largest capacity to the smallest
const leastGain = 1.1; // of the slower stage
const leastResults = 16; // of a replica whose pace is believed

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
  const { members } = rosterOf(state, stage);
  return members.length > 0 && members.every((member) => member.results >= leastResults);
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
    if (member.graceUntilMs !== null || !fits(member, to.stage)) continue;
    const own = 1 / unitMsOf(roster, member);
    const slower = Math.min(from.capacity - own, to.capacity + own);
    if (slower > (best?.slower ?? leastGain * to.capacity)) best = { member, slower };
  }
  return best?.member ?? null;
}

/** A stage without a single miner gets one from the stage with most. */
export function coverStages(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "training") return [];
  const empty = state.rosters.findIndex((roster) => roster.assigned === 0);
  if (empty === -1 || [...state.waiting].some((node) => isComing(state.members.get(node), empty))) return [];
  const mover = leastMissed(state, empty);
  if (mover === null) return [];
  const from = present(mover.stage, "a mover has a stage");
  const effects: OrchestratorEffect[] = [];
  if (mover.leases.size > 0) effects.push(send(mover.node, { type: "cancelTasks", tasks: [...mover.leases] }));
  setAway(state, mover, nowMs); // for no longer than this: nothing of its work may come back to it
  reissueWorkOf(state, mover);
  setBack(state, mover);
  benchMember(state, mover);
  replaceUploader(state, mover.node);
  setStage(state, mover, stageIndex(empty));
  mover.previousStage = stageIndex(empty);
  return [...effects, record({ type: "nodeMoved", node: mover.node, from, to: stageIndex(empty) })];
}

/** It waits for any stage, and may get this one. */
const isComing = (member: Member | undefined, stage: number) => member?.stage === null && fits(member, stage);

/** Of the stage with most connected miners that can hold `to`: one that is not working yet, else the one with least to do again. */
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
