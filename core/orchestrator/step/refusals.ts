/**
 * The cause of an implausible result: the miner that sent it, the maker of its input, or the stage's parameters.
 *
 * The orchestrator never runs the model here, so another replica tries the same item. If every replica fails, or they
 * disagree about a gradient, other makers repeat the input (remaking.ts). If that does not help, a large value that two
 * agree on is accepted; if none has a usable value, the stage's replicas reload the round's parameters, and if that
 * does not help the run stops rather than train on nothing. The decision waits for disconnected and loading replicas. A
 * stage's only replica has no one to agree with: it is blamed.
 */

import { fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { evaluateIfWorse } from "../audit/held_out/evaluation_pace.ts";
import { blame, isSuspect, lastVainClaim, roundsRemembered } from "../members/blame.ts";
import { type OrchestratorEffect, record, reject } from "../event.ts";
import { reach } from "../marks.ts";
import { reissueWorkOf } from "./leases.ts";
import { replicasOf, rosterOf } from "../members/replicas.ts";
import { confirms, isClose, isUsable, mostLoss, type TaskResult } from "./result_check.ts";
import { benchMember } from "../members/roster_changes.ts";
import { finish } from "../closing.ts";
import type { OrchestratorState, StageRoster } from "../state.ts";
import { type Doubt, type Failure, hasRefused, refusersOf, type WorkItem } from "./step_state.ts";
import { flowOf } from "./wiring.ts";

export const mostAsked = 8; // replicas of a large stage
const attemptsAlone = 2; // of a stage's only replica
const mostReloads = 2; // of a stage in a round

/** Disconnected ones count. One that has left does not stand in for one that never tried. */
export function isShared(state: OrchestratorState, item: WorkItem): boolean {
  const { members, assigned } = rosterOf(state, item.stage);
  const failers = refusersOf(item);
  if (assigned <= 1) return item.refused.length >= attemptsAlone;
  const failed = members.filter(({ node }) => failers.has(node)).length;
  return failed >= Math.min(members.length, mostAsked) && !isAwaited(state.rosters[item.stage]!, item);
}

/** Whether an untried replica may still return or, without a usable result so far, finish loading the stage. */
export function isAwaited({ members, assigned }: StageRoster, item: WorkItem): boolean {
  const failers = refusersOf(item);
  if (failers.size >= mostAsked) return false;
  if (members.some(({ node, graceUntilMs }) => graceUntilMs !== null && !failers.has(node))) return true;
  return assigned > members.length && !item.refused.some(({ doubt }) => isUsable(doubt));
}

/** Whether every connected replica has failed the item or is overdue with it. */
export function isLeft(state: OrchestratorState, item: WorkItem): boolean {
  const { members, assigned } = rosterOf(state, item.stage);
  if (item.refused.length === 0 || assigned <= 1) return false;
  const here = members.filter(({ graceUntilMs }) => graceUntilMs === null);
  const left = here.filter(({ node }) => hasRefused(item, node) || item.overdue.includes(node));
  return left.length > 0 && left.length >= Math.min(here.length, mostAsked);
}

const leastUsable = 2; // of three or more replicas, so that one that is alone for a while does not decide

/**
 * Whether those that failed the item may have it again, because each of the others had it until its deadline. A
 * disconnected or merely slow one may still contradict.
 */
export function mayTryAgain(state: OrchestratorState, item: WorkItem): boolean {
  const { members, assigned } = rosterOf(state, item.stage);
  if (item.lapsed.length === 0 || assigned > members.length) return false;
  const usable = new Set(item.refused.filter(({ doubt }) => isUsable(doubt)).map(({ node }) => node));
  const tried = members.filter(({ node }) => hasRefused(item, node) || item.lapsed.includes(node)).length;
  return usable.size >= Math.min(leastUsable, assigned - 1) && tried >= Math.min(members.length, mostAsked);
}

/**
 * Whether an implausible result is accepted, because no replica computed a plausible one. Another must match it; if no
 * two others agree, the result least out of range is accepted.
 */
export function isAgreed(
  state: OrchestratorState,
  { item, result, doubt, sender }: { item: WorkItem; result: TaskResult; doubt: Doubt; sender: NodeId },
): boolean {
  if (!isUsable(doubt) || !(isShared(state, item) || mayTryAgain(state, item))) return false;
  const others = item.refused.filter(({ node, doubt }) => node !== sender && isUsable(doubt));
  if (others.some((other) => confirms(result, other.doubt))) return true;
  const isSplit = !others.some((a) => others.some((b) => a.node !== b.node && isAlike(a.doubt, b.doubt)));
  return isSplit && others.every((other) => doubt.excess <= other.doubt.excess);
}

const isAlike = (a: Doubt, b: Doubt): boolean => a.measure === b.measure && isClose(a.value, b.value);

export function isHopeless(state: OrchestratorState, item: WorkItem): boolean {
  return isShared(state, item) && !item.refused.some(({ doubt }) => isUsable(doubt));
}

/**
 * Per node and round: each claim costs a replica of every stage its work on a microbatch. Fewer after a claim in vain.
 */
const mostClaims = { usual: 3, doubted: 1 };

function claimsLeft(state: OrchestratorState, node: NodeId): number {
  const inVain = lastVainClaim(state, node);
  const isDoubted = inVain !== null && inVain >= state.round - roundsRemembered;
  return mostClaims[isDoubted ? "doubted" : "usual"] - (state.claims.get(node) ?? 0);
}

interface Contest {
  readonly item: WorkItem;
  readonly result: TaskResult;
  readonly doer: NodeId;
}

/**
 * Whether those that failed a gradient task contradict the one that did it: a wire of ordinary size may make honest
 * gradients explode, and an accomplice may deny it.
 */
export function isContested(state: OrchestratorState, contest: Contest): boolean {
  const against = claimsOf(state, contest);
  return against.some(({ doubt }) => !isUsable(doubt)) ||
    against.some((a) => against.some((b) => a.node !== b.node && isAlike(a.doubt, b.doubt)));
}

/** A second recomputation decides who was wrong, so it is free. */
export function noteClaims(state: OrchestratorState, contest: Contest): void {
  if (flowOf(state, contest.item).past.length > 0) return;
  for (const node of new Set(claimsOf(state, contest).map((claim) => claim.node))) {
    state.claims.set(node, (state.claims.get(node) ?? 0) + 1);
  }
}

function claimsOf(state: OrchestratorState, { item, result, doer }: Contest): Failure[] {
  if (item.direction === "forward") return [];
  const isAgain = flowOf(state, item).past.length > 0;
  return item.refused.filter(({ node, doubt }) =>
    node !== doer && doubt.measure !== "loss" && !confirms(result, doubt) &&
    !isSuspect(state, { node, since: state.round }) && (isAgain || claimsLeft(state, node) > 0)
  );
}

/**
 * Another replica has done the item, so one that failed it with numbers impossible for any input was wrong. For
 * gradients, which depend on the input, remaking.ts decides; large but usable numbers may be the honest result of a
 * cheat's wire. A loss is bounded whatever the wire.
 */
export function settleRefusals(
  state: OrchestratorState,
  { item, doer, result }: { item: WorkItem; doer: NodeId; result: TaskResult },
): OrchestratorEffect[] {
  const { refused } = item;
  item.refused = [];
  item.failed = refused;
  const isOfInput = item.direction !== "forward" && item.stage > 0;
  const effects: OrchestratorEffect[] = [];
  const settled = new Set<NodeId>([doer]); // a replica that failed and then succeeded has proven that it can
  for (const { node, doubt } of refused) {
    if (settled.has(node) || confirms(result, doubt)) continue;
    settled.add(node);
    if (doubt.measure === "loss" ? doubt.value <= mostLoss : isOfInput || isUsable(doubt)) {
      reach(state, "refusal: may be honest, nobody is blamed");
      continue;
    }
    reach(state, "refusal: proven wrong");
    const proven = fault("badNumbers", doubt.detail);
    effects.push(...reject(node, proven), ...blame(state, { node, fault: proven }));
  }
  return effects;
}

export function reloadStage(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  const { stage } = item;
  const effects: OrchestratorEffect[] = [];
  if (refusersOf(item).size === 1) {
    reach(state, "refusal: the only replica is blamed");
    const [{ node, doubt }] = item.refused as [WorkItem["refused"][number]];
    item.refused = [];
    effects.push(...blame(state, { node, fault: fault("badNumbers", doubt.detail) }));
  } else {
    const reloads = (state.reloads.get(stage) ?? 0) + 1;
    state.reloads.set(stage, reloads);
    evaluateIfWorse(state);
    if (reloads > mostReloads) {
      reach(state, "refusal: training has diverged");
      const reason = `training has diverged: no replica of stage ${stage} computes finite values; ` +
        `continue from the last checkpoint with a lower train.learningRate`;
      return finish(state, { finished: false, reason });
    }
    reach(state, "refusal: all replicas load again");
    item.refused = [];
  }
  for (const member of [...replicasOf(state, stage)]) {
    reissueWorkOf(state, member);
    benchMember(state, member);
  }
  for (const { past } of state.work?.flows ?? []) {
    for (const making of past) making.isVoid ||= making.item.stage === stage;
  }
  const isCompared = flowOf(state, item).past.length > 0;
  const text = `No replica of stage ${stage} computes finite values, ` +
    `${isCompared ? "whichever replica makes its input" : "and no other replica can make its input"}; ` +
    `they load the parameters of round ${state.round} again`;
  return [...effects, record({ type: "warning", text })];
}
