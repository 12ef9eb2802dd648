/**
 * Which miners must open their parameters of a round's later step: sampled in secret when the step closes. Their wires,
 * losses and gradient norms are in by then, so nobody can work better in the steps that count.
 */

import { mostStates } from "../../update/payload/allowance.ts";
import { present } from "../../assert.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { isDrawn } from "../../prng.ts";
import { stepsOfRound } from "../merge/round_length.ts";
import { hasLapsed, sendToRest } from "../members/blame.ts";
import type { Member, OrchestratorState } from "../state.ts";
import type { StepWork } from "../step/step_state.ts";
import { noteHidden } from "./forfeits.ts";
import { isAudited } from "./validator_places.ts";

const doubtedDraws = 4; // times as often, after a missed merge deadline: surely in the round's last step
const muchWork = 2.5; // times the average of its stage's other contributors
const mostOften = 4; // times, for miners with so much work
const mostLeaves = 2; // in a round; a miner that leaves more often loses its place

/**
 * Includes miners whose gradients others redid, so that a cheat cannot avoid being drawn by leaving its gradients to
 * them.
 */
export function drawMiners(state: OrchestratorState, open: StepWork): Set<NodeId> {
  const drawn = new Set<NodeId>();
  const { audit, config: { validate }, stream, members } = state;
  const chance = chanceToShow(state);
  if (chance <= 0) return drawn;
  const ofStages = tasksOfStages(state, open);
  for (const node of open.delivered) {
    const before = audit.drawn.get(node) ?? 0;
    const member = members.get(node);
    if (member === undefined || (!open.contributors.has(node) && member.status !== "active")) continue; // gone since
    const own = timesAsOften(member, ofStages) * (hasLapsed(state, node) ? doubtedDraws * chance : chance);
    const mustShow = isDrawn(stream, own) && before < mostStates(validate);
    if (!mustShow || member.status !== "active") continue;
    drawn.add(node);
    audit.drawn.set(node, before + 1);
  }
  return drawn;
}

/**
 * A contributor that does far more than its stage-mates is drawn more often: a cheat that skips the work is the
 * fastest, and could earn several times as much before it is drawn.
 */
export function timesAsOften(
  { stage, stepTasks: { length: own } }: Pick<Member, "stage" | "stepTasks">,
  ofStages: ReadonlyMap<StageIndex | null, Tasks>,
): number {
  const { tasks, contributors } = ofStages.get(stage) ?? { tasks: 0, contributors: 1 };
  const others = (tasks - own) / (contributors - 1);
  if (contributors === 1 || own === 0 || own < muchWork * others) return 1;
  return Math.min(mostOften, own / Math.max(1, others));
}

interface Tasks {
  readonly tasks: number; // gradient tasks
  readonly contributors: number;
}

function tasksOfStages({ members }: OrchestratorState, { contributors }: StepWork): Map<StageIndex | null, Tasks> {
  const found = new Map<StageIndex | null, Tasks>();
  for (const node of contributors) {
    const { stage, stepTasks } = present(members.get(node), "a contributor is a member");
    const before = found.get(stage) ?? { tasks: 0, contributors: 0 };
    found.set(stage, { tasks: before.tasks + stepTasks.length, contributors: before.contributors + 1 });
  }
  return found;
}

/** Half of the draws are of the round's last step, whose parameters say most about the payload (shown_ends.ts). */
export function chanceToShow(state: OrchestratorState): number {
  const { statesPerRound } = state.config.validate;
  const later = stepsOfRound(state) - 1;
  if (later <= 1) return statesPerRound;
  const isLast = state.step - state.roundFirstStep >= later;
  return isLast ? statesPerRound / 2 : statesPerRound / 2 / (later - 1);
}

/**
 * Draws a member that leaves while others use its results, so that a cheat cannot always leave before a step closes. If
 * drawn, it counts as hiding its parameters.
 */
export function drawLeaver(state: OrchestratorState, { node, isCutByHub }: Member): void {
  const { work, step, roundFirstStep, stream, audit } = state;
  if (work?.delivered.has(node) !== true) return;
  work.delivered.delete(node);
  work.leavers.add(node);
  if (isCutByHub) return;
  const times = (audit.leaves.get(node) ?? 0) + 1;
  audit.leaves.set(node, times);
  if (times > mostLeaves) sendToRest(state, node);
  if (step === roundFirstStep || !isAudited(state)) return; // its first step is repeated without it
  const chance = chanceToShow(state) * (hasLapsed(state, node) ? doubtedDraws : 1);
  if (isDrawn(stream, chance)) noteHidden(state, { node, fromRound: state.round });
}
