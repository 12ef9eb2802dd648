/**
 * The hub repeats a task that a validator found wrong: only what the hub has computed itself is proof.
 *
 * A miner whose output is off by more than the tolerance and rounding together is expelled, and an open round that its wires
 * went into begins anew without it (merge/retake.ts). A validator that called a clearly good output wrong is blamed. In between,
 * and where the hub cannot compute the task (its stage is too large, a blob is gone), the validators' verdicts stand as they
 * are: each for its own scores. Out of scope: the arithmetic (cli/hub/task_referee.ts) and the rule (core/score/verdict.ts).
 *
 * A task is repeated at most once at a time, and one task after another, so a validator that fails everybody costs a few
 * repetitions until it is gone. Invariant: every task here counts as open in its round (audit_state.ts), so that its
 * wires and parameters are kept.
 */

import { fault } from "../../fault.ts";
import type { NodeId, TaskId } from "../../ids.ts";
import { judgeAsReferee, judgeRepetition, type RefereedRepetition } from "../../score/verdict.ts";
import { blame, convict } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import { replayAttachments, replaySource, sourcesOf } from "./audit_requests.ts";
import { closeOne, openOne, type RefereedTask, type ReplayTask } from "./audit_state.ts";

/** A validator found the task wrong. */
export function askReferee(
  state: OrchestratorState,
  { replay, accuser }: { replay: ReplayTask; accuser: NodeId },
): void {
  const { audit: { refereed, open }, expelled } = state;
  const known = refereed.get(replay.task);
  if (known !== undefined) known.accusers.push(accuser);
  if (known !== undefined || expelled.has(replay.miner)) return;
  refereed.set(replay.task, { replay, accusers: [accuser], isAsked: false });
  openOne(open, replay.round);
}

/** Repeats the first of the waiting tasks, unless one is being repeated. */
export function refereeNext(state: OrchestratorState): OrchestratorEffect[] {
  const { refereed } = state.audit;
  if ([...refereed.values()].some(({ isAsked }) => isAsked)) return [];
  for (const waiting of refereed.values()) {
    const { round, task, stage, direction, losses } = waiting.replay;
    const sources = sourcesOf(state, round);
    if (sources === null) continue;
    waiting.isAsked = true;
    const source = replaySource(waiting.replay, sources.stages);
    const attachments = replayAttachments(waiting.replay);
    return [{ type: "refereeTask", round, task, stage, direction, losses, source, attachments }];
  }
  return [];
}

/** After a restart: the hub's own work died with its process. */
export function refereeAgain({ audit }: OrchestratorState): void {
  for (const refereed of audit.refereed.values()) refereed.isAsked = false;
}

/** `found`: null if the hub could not compute the task, `detail` says why. */
export function onTaskRefereed(
  state: OrchestratorState,
  { task, found, detail }: { task: TaskId; found: RefereedRepetition | null; detail: string },
): OrchestratorEffect[] {
  const { audit } = state;
  const refereed = audit.refereed.get(task);
  if (refereed === undefined) return []; // dropped meanwhile
  audit.refereed.delete(task);
  closeOne(audit.open, refereed.replay.round);
  const effects = found === null
    ? [record({ type: "warning", text: `The orchestrator could not repeat ${task}: ${detail}` })]
    : settle(state, refereed, found);
  dropVain(state);
  return effects;
}

/** Nothing depends on whether an expelled miner lied again, and whoever was expelled for accusing is not believed. */
function dropVain(state: OrchestratorState): void {
  const { audit: { refereed }, expelled } = state;
  const isGone = (node: NodeId) => expelled.has(node);
  dropRefereed(state, ({ task, miner }) => isGone(miner) || (refereed.get(task)?.accusers ?? []).every(isGone));
}

function settle(
  state: OrchestratorState,
  { replay, accusers }: RefereedTask,
  found: RefereedRepetition,
): OrchestratorEffect[] {
  const { tolerance } = state.config.validate;
  const { reason } = judgeRepetition(replay, { found, tolerance });
  switch (judgeAsReferee(found, tolerance)) {
    case "madeUp": {
      const proven = `${reason}, as the orchestrator found by repeating it`;
      convict(state, { node: replay.miner, reason: proven });
      const isInWires = found.beyondRounding > tolerance; // false losses alone spoil nothing
      if (isInWires && replay.round === state.round) state.restartBecause = proven;
      return [];
    }
    case "honest": {
      const detail =
        `Cannot accept that ${replay.task} of ${replay.miner} is wrong as the orchestrator repeated it: ${reason}`;
      // Also of one that has left since: else it would leave after each accusation and join again.
      return accusers.filter((node) => !state.expelled.has(node))
        .flatMap((node) => blame(state, { node, fault: fault("badNumbers", detail) }));
    }
    case "unclear":
      return [];
  }
}

/** The tasks can no longer be repeated. Returns how many. */
export function dropRefereed({ audit }: OrchestratorState, isVain: (replay: ReplayTask) => boolean): number {
  let dropped = 0;
  for (const [task, { replay }] of audit.refereed) {
    if (!isVain(replay)) continue;
    audit.refereed.delete(task);
    closeOne(audit.open, replay.round);
    dropped += 1;
  }
  return dropped;
}
