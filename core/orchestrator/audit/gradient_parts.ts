/**
 * The parts in which a gradient's tasks go to a validator: a frame has room for a few wires, and each part is answered
 * before the next one. The orchestrator itself reads all wires in place.
 */

import type { RunConfig } from "../../config/config.ts";
import { tasksOfPart } from "../../protocol/audit_messages.ts";
import type { Attachment } from "../event.ts";
import type { GradientReplay, GradientTask } from "./audit_state.ts";

/** The number of tasks in the part that begins after `first` others. */
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
