/**
 * The work of repeating a task: what is asked together with its segments, which come in one order, for a validator and for the
 * hub alike: the input, then targets or a gradient if the direction needs them, then the output that is claimed, if there is one.
 */

import { present } from "../assert.ts";
import type { BlobRef } from "../ids.ts";
import type { ValidatorWork } from "./event.ts";

export type ReplayWork = Extract<ValidatorWork, { type: "replay" }>;
export type ReplayedTask = Pick<ReplayWork, "round" | "stage" | "direction" | "source" | "losses">;

export function replayWork(
  { round, stage, direction, source, losses }: ReplayedTask,
  segments: readonly BlobRef[],
): ReplayWork {
  const segment = (index: number) => present(segments.at(index), "a replay has its segments");
  const second = direction === "forward" ? null : segment(1);
  const claimed = segments.at(direction === "forward" ? 1 : 2) ?? null;
  return { type: "replay", round, stage, direction, source, losses, input: segment(0), second, claimed };
}
