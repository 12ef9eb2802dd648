/**
 * The parts in which a gradient's tasks go to a validator: how many a message holds, and its segments.
 *
 * A frame has room for a few wires, and a session for a few frames in flight. So the tasks come in parts, each answered
 * before the next one: neither the orchestrator's outbox nor the validator ever holds more than one. The orchestrator
 * itself reads the wires in place and takes all at once.
 */

import type { RunConfig } from "../../config/config.ts";
import { tasksOfPart } from "../../protocol/audit_messages.ts";
import type { Attachment } from "../event.ts";
import type { GradientReplay, GradientTask } from "./audit_state.ts";

/** The tasks of the part that begins after `first` others. */
export function gradientPart(
  config: RunConfig,
  { replay, first }: { replay: GradientReplay; first: number },
): number {
  const room = config.limits.frameBytes - config.limits.headerBytes;
  const tokenBytes = 4 * config.train.sequencesPerMicrobatch * config.model.contextLength;
  const bytesOf = ({ input, gradient }: GradientTask) => (input?.bytes ?? tokenBytes) + (gradient?.bytes ?? tokenBytes);
  const rest = replay.tasks.slice(first, first + tasksOfPart);
  let bytes = 0;
  const fitting = rest.findIndex((task) => (bytes += bytesOf(task)) > room);
  return fitting === -1 ? rest.length : Math.max(1, fitting); // a frame holds any one task (core/settings/derive.ts)
}

/** Input, then targets or gradient, of each of these tasks. @default all */
export function gradientAttachments(
  { tasks: all }: GradientReplay,
  { first, tasks }: { first: number; tasks: number } = { first: 0, tasks: all.length },
): Attachment[] {
  return all.slice(first, first + tasks).flatMap(({ microbatch, input, gradient }): Attachment[] => [
    input === null ? { type: "inputs", microbatch } : { type: "blob", ref: input },
    gradient === null ? { type: "targets", microbatch } : { type: "blob", ref: gradient },
  ]);
}
