/**
 * Audits of a round's later steps, when replicas' parameters differ: a drawn miner opens its own, as the change since
 * the round's start, and validators repeat its tasks with them. The orchestrator checks that the round's steps can lead
 * there (core/train/longest_way.ts).
 *
 * Invariant: every drawn task counts as open in its round.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { BlobRef, NodeId } from "../../ids.ts";
import { changeBytes } from "../../update/shown_change.ts";
import type { PayloadStats } from "../../update/payload_stats.ts";
import type { StateShown } from "../../protocol/message.ts";
import { roundsUntilDue } from "../../score/work_score.ts";
import { longestWay } from "../../train/longest_way.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record, reject } from "../event.ts";
import { blame, noteAbsence, noteWithheld } from "../members/blame.ts";
import { sketchKeyOf } from "../merge/payloads/payload_trails.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { forfeit, isExcusable, noteHidden } from "./forfeits.ts";
import { noteShownWay } from "./shown_ends.ts";
import { addFirst, addRequest } from "./audit_queue.ts";
import {
  auditedRefs,
  type AwaitedState,
  awaitedWork,
  closeOne,
  type GradientReplay,
  type HeldForAudits,
  heldOf,
  openOne,
  repetitionOf,
  type ReplayTask,
} from "./audit_state.ts";

/** Returns those of the step's wires (`refs`) that the drawn tasks do not need. */
export function awaitStates(
  state: OrchestratorState,
  { drawn, gradients, step, reach, refs }: {
    drawn: ReadonlyMap<NodeId, readonly ReplayTask[]>;
    gradients: ReadonlyMap<NodeId, GradientReplay>; // of some of the same miners
    step: number;
    reach: number;
    refs: readonly BlobRef[];
  },
): BlobRef[] {
  if (drawn.size === 0) return [...refs];
  const { audit, members, round } = state;
  const sketchKey = sketchKeyOf(state);
  const needed = new Set<string>();
  for (const [node, replays] of drawn) {
    const { stage } = present(replays[0], "a drawn miner has a task");
    const gradient = gradients.get(node) ?? null;
    const { assignment } = present(members.get(node), "a drawn miner is a member");
    const awaited: AwaitedState = {
      round,
      step,
      stage,
      assignment,
      reach,
      sketchKey,
      replays,
      gradient,
      change: null,
      mayLeave: false,
    };
    const others = audit.awaited.get(node);
    if (others === undefined) audit.awaited.set(node, [awaited]);
    else others.push(awaited);
    for (const work of awaitedWork(awaited)) {
      openOne(audit.open, round);
      for (const { hash } of auditedRefs(work)) needed.add(hash);
    }
  }
  heldOf(state, round).wires.push(...refs.filter(({ hash }) => needed.has(hash)));
  return refs.filter(({ hash }) => !needed.has(hash));
}

export function onStateShown(
  state: OrchestratorState,
  { member: { node }, message: { round, step, change } }: { member: Member; message: StateShown },
): OrchestratorEffect[] {
  const awaited = state.audit.awaited.get(node)?.find((each) => each.round === round && each.step === step);
  if (awaited === undefined || awaited.change !== null) return []; // too late, or repeated
  const bytes = changeBytes(present(state.stageFloats[awaited.stage], "every stage has a length"));
  if (change.bytes !== bytes) {
    const detail = `The opened parameters of stage ${awaited.stage} at step ${step} have ${change.bytes} bytes ` +
      `instead of ${bytes}`;
    return reject(node, fault("badBlob", detail));
  }
  awaited.change = change;
  heldOf(state, awaited.round).states.push(change);
  return [checkEffect(node, { ...awaited, change })];
}

type ShownState = AwaitedState & { readonly change: BlobRef };

function checkEffect(node: NodeId, { round, step, stage, change, sketchKey }: ShownState): OrchestratorEffect {
  return { type: "checkState", round, step, stage, node, change, sketchKey };
}

/** Returns the returning member's pending steps of the open round, which it may not know of. */
export function owedAgain({ audit, round }: OrchestratorState, { node, assignment }: Member): number[] {
  const states = audit.awaited.get(node) ?? [];
  for (const awaited of states) awaited.mayLeave = false;
  const isUnshown = (each: AwaitedState) =>
    each.round === round && each.assignment === assignment && each.change === null;
  return states.filter(isUnshown).map(({ step }) => step);
}

function awaitedCheck(
  { audit }: OrchestratorState,
  { node, round, step }: { node: NodeId; round: number; step: number },
): ShownState | null {
  for (const awaited of audit.awaited.get(node) ?? []) {
    const { change } = awaited;
    if (awaited.round === round && awaited.step === step && change !== null) return { ...awaited, change };
  }
  return null;
}

/** A restart ended the checks. Only miners that are kept are known to repeat interrupted uploads. */
export function resumeShowing(state: OrchestratorState): OrchestratorEffect[] {
  for (const awaited of [...state.audit.awaited.values()].flat()) awaited.mayLeave = true;
  return [...state.audit.awaited].flatMap(([node, states]) =>
    states.flatMap((awaited) => {
      const { change } = awaited;
      return change === null ? [] : [checkEffect(node, { ...awaited, change })];
    })
  );
}

/** `way`: from the round's start to the opened parameters; null if they are not in the store. */
export function onStateChecked(
  state: OrchestratorState,
  { node, round, step, way, sketch }: Omit<Extract<OrchestratorEvent, { type: "stateChecked" }>, "type">,
): OrchestratorEffect[] {
  const { audit } = state;
  const awaited = awaitedCheck(state, { node, round, step });
  if (awaited === null) return [];
  drop(state, { node, isVain: (each) => each.round === round && each.step === step });
  if (way === null) {
    const fromRound = isExcusable(state, node) ? round : null;
    noteWithheld(state, { node, duty: "showing" });
    forfeit(state, { node, fromRound });
    const detail = `Cannot audit step ${step}: the opened parameters are not in the store`;
    return [record({ type: "faultSeen", node, code: "badBlob", detail })];
  }
  const excess = excessOf(state, { awaited, way });
  if (excess !== null) {
    forfeit(state, { node, fromRound: null });
    const detail = `The round's steps cannot lead to the opened parameters of step ${step}: ${excess}`;
    return blame(state, { node, fault: fault("badNumbers", detail) });
  }
  const add = awaited.round < state.round ? addFirst : addRequest; // late opened parameters have little time left
  for (const work of awaitedWork(awaited)) add(audit, repetitionOf(work));
  if (sketch === null) return [];
  const { stage, assignment, reach } = awaited;
  return noteShownWay(state, { node, stage, way: { round, assignment, reach, sketch } });
}

function excessOf(
  { config, stageFloats }: OrchestratorState,
  { awaited: { stage, reach }, way }: { awaited: AwaitedState; way: PayloadStats },
): string | null {
  if (!way.isFinite) return "they hold non-finite values";
  const most = longestWay(config);
  const norm = most.length * reach * Math.sqrt(present(stageFloats[stage], "every stage has a length"));
  const length = Math.sqrt(way.squareSum);
  if (length > norm) return `they are ${length.toPrecision(3)} away from its start, at most ${norm.toPrecision(3)}`;
  const value = most.value * reach;
  if (way.largest > value) return `one moved by ${way.largest.toPrecision(3)}, at most ${value.toPrecision(3)}`;
  return null;
}

/** Nobody is at fault. Returns how many tasks are not repeated. */
export function dropAwaited(state: OrchestratorState, isVain: (awaited: AwaitedState) => boolean): number {
  return [...state.audit.awaited.keys()].reduce((sum, node) => sum + drop(state, { node, isVain }), 0);
}

/** Leaving with pending requests forfeits pay, so that a cheat cannot leave whenever it is drawn. */
export function noteUnshown(state: OrchestratorState, node: NodeId): void {
  const states = unshownOf(state, node);
  if (states.length > 0) noteHidden(state, { node, fromRound: Math.min(...states.map(({ round }) => round)) });
}

const unshownOf = ({ audit }: OrchestratorState, node: NodeId): AwaitedState[] =>
  audit.awaited.get(node)?.filter(({ change, mayLeave }) => change === null && !mayLeave) ?? [];

/** Whether leaving now would cost the member its pay. */
export const owesStates = (state: OrchestratorState, node: NodeId): boolean => unshownOf(state, node).length > 0;

export function dropAwaitedOf(state: OrchestratorState, node: NodeId): void {
  drop(state, { node, isVain: ({ change }) => change === null });
}

function drop(
  { audit }: OrchestratorState,
  { node, isVain }: { node: NodeId; isVain: (awaited: AwaitedState) => boolean },
): number {
  const states = audit.awaited.get(node);
  if (states === undefined) return 0;
  const vain = states.filter(isVain);
  for (const each of vain) for (const _ of awaitedWork(each)) closeOne(audit.open, each.round);
  const left = states.filter((each) => !vain.includes(each));
  if (left.length === 0) audit.awaited.delete(node);
  else audit.awaited.set(node, left);
  return vain.reduce((sum, each) => sum + awaitedWork(each).length, 0);
}

/**
 * Called between a merge and its report. A miner that has not opened a state of the previous round gets nothing for
 * either, so that a cheat cannot open only its honest steps. A disconnected miner gets one more chance, unless the pay
 * would vest with the next report.
 */
export function endShowing(state: OrchestratorState): OrchestratorEffect[] {
  return endShowingOf(state, { isOld: ({ round }) => round < state.round - 1, excusesAway: true });
}

/**
 * No round follows. A disconnected miner loses the pay as if it had left: nothing it does later could prove bad luck.
 */
export function endAllShowing(state: OrchestratorState): OrchestratorEffect[] {
  return endShowingOf(state, { isOld: () => true, excusesAway: false });
}

export const hasUnshown = ({ audit }: OrchestratorState): boolean =>
  [...audit.awaited.values()].some((states) => states.some(({ change }) => change === null));

function endShowingOf(
  state: OrchestratorState,
  { isOld, excusesAway }: { isOld: (awaited: AwaitedState) => boolean; excusesAway: boolean },
): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  const isLate = (awaited: AwaitedState) => awaited.change === null && isOld(awaited);
  for (const [node, states] of [...state.audit.awaited]) {
    const late = states.find(isLate);
    if (late === undefined) continue;
    const fromRound = isExcusable(state, node) ? late.round : null;
    const isAway = state.members.get(node)?.graceUntilMs !== null;
    if (isAway) noteAbsence(state, { node, duty: "showing" });
    else noteWithheld(state, { node, duty: "showing", ofRound: late.round });
    const isUrgent = late.round < state.round - roundsUntilDue; // vests with the next report
    if (isAway && excusesAway && !isUrgent && !state.unpaid.has(node)) continue;
    forfeit(state, { node, fromRound });
    drop(state, { node, isVain: isLate });
    const detail = `The parameters of step ${late.step} were not opened by the end of the next round`;
    effects.push(record({ type: "faultSeen", node, code: "limitExceeded", detail }));
  }
  return effects;
}

export function takeFreed({ audit }: OrchestratorState): HeldForAudits {
  const freed: { wires: BlobRef[]; states: BlobRef[] } = { wires: [], states: [] };
  for (const [round, { wires, states }] of audit.held) {
    if (audit.open.has(round)) continue;
    freed.wires.push(...wires);
    freed.states.push(...states);
    audit.held.delete(round);
  }
  return freed;
}
