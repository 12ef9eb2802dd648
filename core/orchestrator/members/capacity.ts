/**
 * The capacity of stages in microbatches per millisecond, comparable although stages differ in cost. An unmeasured
 * miner counts as the mean of its stage, otherwise of the run. Every newcomer asks, so no replica is looked at.
 */

import { present } from "../../assert.ts";
import { type StageIndex, stageIndex } from "../../ids.ts";
import { stageFlopsPerToken } from "../../model/stages.ts";
import { steadyMsOf } from "./pace.ts";
import { rosterOf } from "./replicas.ts";
import type { Member, OrchestratorState } from "../state.ts";

export interface StageCapacity {
  readonly stage: StageIndex;
  readonly assigned: number; // replicas, including loading ones
  readonly cost: number; // FLOPs per token of a microbatch
  readonly meanSpeed: number; // of a replica, in FLOPs per token and millisecond
  readonly active: number; // of the working replicas
  readonly expected: number; // once the loading replicas work too
}

export function stageCapacities(state: OrchestratorState): StageCapacity[] {
  const measured = state.stages.map((spec) => {
    const { forward, training: cost } = stageFlopsPerToken(spec);
    const { pace, members, assigned } = rosterOf(state, stageIndex(spec.index));
    return { cost, speed: pace.forwardsPerMs * forward, count: pace.measured, members: members.length, assigned };
  });
  const speed = measured.reduce((sum, stage) => sum + stage.speed, 0);
  const count = measured.reduce((sum, stage) => sum + stage.count, 0);
  const runMean = count === 0 ? 1 : speed / count;
  return measured.map((each, index) => {
    const { cost, assigned, members } = each;
    const meanSpeed = each.count === 0 ? runMean : each.speed / each.count;
    const [active, expected] = [members, assigned].map((replicas) =>
      (each.speed + (replicas - each.count) * meanSpeed) / cost
    ) as [number, number];
    return { stage: stageIndex(index), assigned, cost, meanSpeed, active, expected };
  });
}

export function speedOf(state: OrchestratorState, member: Member): number {
  const stage = present(member.stage, "a replica has a stage");
  const { forward } = stageFlopsPerToken(present(state.stages[stage], "the stage exists"));
  return forward / steadyMsOf(rosterOf(state, stage), member);
}
