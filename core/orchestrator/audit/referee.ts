/**
 * The hub repeats a task that a validator found wrong: only what the hub has computed itself is proof.
 *
 * A miner whose output is off by more than any rounding is expelled, and an open round that its wires went into begins anew
 * without it (merge/retake.ts). A validator that called a good output wrong is blamed. In between, and where the hub cannot
 * compute the task (its stage is too large, a blob is gone), the validators' verdicts stand as they are: each for its own
 * scores. Out of scope: the arithmetic (cli/hub/task_referee.ts) and the rule (core/score/verdict.ts).
 *
 * A task is repeated at most once at a time, and one task after another, so a validator that fails everybody costs a few
 * repetitions until it is gone. Invariant: every task here counts as open in its round (audit_state.ts), so that its
 * wires and parameters are kept.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, TaskId } from "../../ids.ts";
import { judgeRepetition, type Repetition } from "../../score/verdict.ts";
import { blame, convict } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import { replayAttachments, sourcesOf } from "./audit_requests.ts";
import { closeOne, openOne, type RefereedTask, type ReplayTask } from "./audit_state.ts";

/** A validator found the task wrong. */
export function askReferee(
  state: OrchestratorState,
  { replay, accuser }: { replay: ReplayTask; accuser: NodeId },
): OrchestratorEffect[] {
  const { audit: { refereed, open }, expelled } = state;
  const known = refereed.get(replay.task);
  if (known !== undefined) {
    known.accusers.push(accuser);
    return [];
  }
  if (expelled.has(replay.miner)) return [];
  refereed.set(replay.task, { replay, accusers: [accuser] });
  openOne(open, replay.round);
  return refereed.size === 1 ? nextEffect(state) : [];
}

/** The first of the waiting tasks; again after a restart, as the hub's own work died with its process. */
export function nextEffect(state: OrchestratorState): OrchestratorEffect[] {
  for (const { replay } of state.audit.refereed.values()) {
    const { round, task, stage, direction, losses } = replay;
    const sources = sourcesOf(state, round);
    if (sources === null) continue;
    const source = present(sources.stages[stage], "every stage has a source");
    const attachments = replayAttachments(replay);
    return [{ type: "refereeTask", round, task, stage, direction, losses, source, attachments }];
  }
  return [];
}

/** `found`: null if the hub could not compute the task, `detail` says why. */
export function onTaskRefereed(
  state: OrchestratorState,
  { task, found, detail }: { task: TaskId; found: Repetition | null; detail: string },
): OrchestratorEffect[] {
  const { audit } = state;
  const refereed = audit.refereed.get(task);
  if (refereed === undefined) return []; // dropped meanwhile
  audit.refereed.delete(task);
  closeOne(audit.open, refereed.replay.round);
  const effects = found === null
    ? [record({ type: "warning", text: `The orchestrator could not repeat ${task}: ${detail}` })]
    : settle(state, refereed, found);
  dropRefereed(state, ({ miner }) => state.expelled.has(miner));
  return [...effects, ...nextEffect(state)];
}

function settle(
  state: OrchestratorState,
  { replay, accusers }: RefereedTask,
  found: Repetition,
): OrchestratorEffect[] {
  const { tolerance } = state.config.validate;
  const verdict = judgeRepetition(replay, { found, tolerance, isReferee: true });
  if (verdict.action === "expel") {
    const reason = `${verdict.reason}, as the orchestrator found by repeating it`;
    convict(state, { node: replay.miner, reason });
    const isInWires = found.innovationError > tolerance; // false losses alone spoil nothing
    if (isInWires && replay.round === state.round) state.restartBecause = reason;
    return [];
  }
  if (verdict.type !== "passed") return [];
  const detail =
    `Cannot accept that ${replay.task} of ${replay.miner} is wrong as the orchestrator repeated it: ${verdict.reason}`;
  return accusers.filter((node) => state.members.has(node))
    .flatMap((node) => blame(state, { node, fault: fault("badNumbers", detail) }));
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
