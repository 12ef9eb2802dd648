/**
 * The arbiter: the orchestrator repeats work that a validator found wrong, because only its own computation is proof.
 * It bans the miner or blames the validator; if the result is unclear or not computable, each validator's verdict
 * stands for its own scores (core/score/verdict.ts). Work is repeated one at a time, and counts as open in its round so
 * that its wires and parameters are kept.
 */

import { fault } from "../../fault.ts";
import type { NodeId, TaskId } from "../../ids.ts";
import { gradientRepetition, gradientTolerance, judgeGradient } from "../../score/gradient_verdict.ts";
import { judgeAsReferee, judgeRepetition, type RefereedRepetition } from "../../score/verdict.ts";
import { blame, convict } from "../members/blame.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import { replayAttachments, replaySource, sourcesOf } from "./audit_requests.ts";
import {
  type AuditedWork,
  closeOne,
  type GradientReplay,
  openOne,
  type RefereedWork,
  type ReplayTask,
} from "./audit_state.ts";
import { gradientAttachments } from "./gradient_parts.ts";

const keyOf = ({ type, replay: { task } }: AuditedWork): string => type === "replay" ? task : gradientKey(task);
const gradientKey = (task: TaskId): string => `gradient ${task}`;

export function askReferee(
  state: OrchestratorState,
  { work, accuser }: { work: AuditedWork; accuser: NodeId },
): void {
  const { audit: { refereed, open }, expelled } = state;
  const { miner, round } = work.replay;
  const known = refereed.get(keyOf(work));
  if (known !== undefined) known.accusers.push(accuser);
  if (known !== undefined || expelled.has(miner)) return;
  refereed.set(keyOf(work), { ...work, accusers: [accuser], isAsked: false });
  openOne(open, round);
}

export function refereeNext(state: OrchestratorState): OrchestratorEffect[] {
  const { refereed } = state.audit;
  if ([...refereed.values()].some(({ isAsked }) => isAsked)) return [];
  for (const waiting of refereed.values()) {
    const { round, task, stage, direction } = waiting.replay;
    const sources = sourcesOf(state, round);
    if (sources === null) continue;
    waiting.isAsked = true;
    const asked = { round, task, stage, direction, source: replaySource(waiting.replay, sources.stages) };
    if (waiting.type === "gradient") {
      return [{ type: "refereeGradient", ...asked, attachments: gradientAttachments(waiting.replay) }];
    }
    const { losses } = waiting.replay;
    return [{ type: "refereeTask", ...asked, losses, attachments: replayAttachments(waiting.replay) }];
  }
  return [];
}

/** After a restart: the previous process's repetition is lost. */
export function refereeAgain({ audit }: OrchestratorState): void {
  for (const refereed of audit.refereed.values()) refereed.isAsked = false;
}

export function onRefereed(
  state: OrchestratorState,
  event: Extract<OrchestratorEvent, { type: "taskRefereed" | "gradientRefereed" }>,
): OrchestratorEffect[] {
  const { task, detail } = event;
  const isTask = event.type === "taskRefereed";
  const refereed = takeRefereed(state, isTask ? task : gradientKey(task));
  if (refereed === undefined) return []; // dropped meanwhile
  const what = isTask ? task : `the gradient that ${task} began`;
  let effects: OrchestratorEffect[];
  if (isTask && refereed.type === "replay" && event.found !== null) effects = settleTask(state, refereed, event.found);
  else if (!isTask && refereed.type === "gradient" && event.squareSum !== null) {
    effects = settleGradient(state, refereed, event.squareSum);
  } else effects = [record({ type: "warning", text: `The orchestrator could not repeat ${what}: ${detail}` })];
  dropVain(state);
  return effects;
}

function takeRefereed({ audit }: OrchestratorState, key: string): RefereedWork | undefined {
  const refereed = audit.refereed.get(key);
  if (refereed === undefined) return undefined;
  audit.refereed.delete(key);
  closeOne(audit.open, refereed.replay.round);
  return refereed;
}

/**
 * More repetitions of a banned miner's work decide nothing, and a validator banned for false accusations is not
 * believed.
 */
function dropVain(state: OrchestratorState): void {
  const { expelled } = state;
  const isGone = (node: NodeId) => expelled.has(node);
  dropRefereed(state, ({ replay: { miner }, accusers }) => isGone(miner) || accusers.every(isGone));
}

function settleTask(
  state: OrchestratorState,
  { replay, accusers }: { replay: ReplayTask; accusers: readonly NodeId[] },
  found: RefereedRepetition,
): OrchestratorEffect[] {
  const { tolerance } = state.config.validate;
  const { reason } = judgeRepetition(replay, { found, tolerance });
  const isInWires = found.beyondRounding > tolerance; // false losses alone do not spoil the round
  return settle(state, { replay, accusers, reason, spoils: isInWires, judged: judgeAsReferee(found, tolerance) });
}

/** A false norm spoils no round: gradient_norm.ts has bounded it. */
function settleGradient(
  state: OrchestratorState,
  { replay, accusers }: { replay: GradientReplay; accusers: readonly NodeId[] },
  found: number,
): OrchestratorEffect[] {
  const squares = { claimed: replay.squareSum, found, least: replay.least };
  const { reason } = judgeGradient(replay, squares);
  const judged = judgeAsReferee(gradientRepetition(squares), gradientTolerance);
  return settle(state, { replay, accusers, reason, spoils: false, judged });
}

function settle(
  state: OrchestratorState,
  { replay: { miner, task, round }, accusers, reason, spoils, judged }: {
    replay: ReplayTask | GradientReplay;
    accusers: readonly NodeId[];
    reason: string;
    spoils: boolean; // the wires of the round
    judged: ReturnType<typeof judgeAsReferee>;
  },
): OrchestratorEffect[] {
  switch (judged) {
    case "madeUp": {
      const proven = `${reason}, as the orchestrator found by repeating it`;
      convict(state, { node: miner, reason: proven });
      if (spoils && round === state.round) state.restartBecause = proven;
      return [];
    }
    case "honest": {
      const detail = `The orchestrator repeated ${task} of ${miner} and did not find it wrong: ${reason}`;
      // Also blame validators that have left, so that leaving after an accusation does not help.
      return accusers.filter((node) => !state.expelled.has(node))
        .flatMap((node) => blame(state, { node, fault: fault("badNumbers", detail) }));
    }
    case "unclear":
      return [];
  }
}

/** Returns how many were dropped. */
export function dropRefereed({ audit }: OrchestratorState, isVain: (work: RefereedWork) => boolean): number {
  let dropped = 0;
  for (const [key, work] of audit.refereed) {
    if (!isVain(work)) continue;
    audit.refereed.delete(key);
    closeOne(audit.open, work.replay.round);
    dropped += 1;
  }
  return dropped;
}
