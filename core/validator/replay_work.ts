/**
 * The work of repeating a task or a gradient. Segments: the input, targets or a gradient if the direction needs them,
 * the claimed output if any; for a gradient, the first two of every task.
 */

import { present } from "../assert.ts";
import type { BlobRef } from "../ids.ts";
import type { Replay } from "../protocol/message.ts";
import type { Subject } from "../statements/findings.ts";
import { doneWork, sourceName, workHash } from "../statements/statement.ts";
import type { ValidatorWork } from "./event.ts";

export type ReplayWork = Extract<ValidatorWork, { type: "replay" }>;
export type GradientWork = Extract<ValidatorWork, { type: "gradient" }>;
type ReplayedTask = Pick<ReplayWork, "round" | "stage" | "direction" | "source" | "losses">;

export function replayWork(
  { round, stage, direction, source, losses }: ReplayedTask,
  segments: readonly BlobRef[],
): ReplayWork {
  const segment = (index: number) => present(segments.at(index), "a replay has its segments");
  const second = direction === "forward" ? null : segment(1);
  const claimed = segments.at(direction === "forward" ? 1 : 2) ?? null;
  return { type: "replay", round, stage, direction, source, losses, input: segment(0), second, claimed };
}

/** An odd number of segments was refused before. */
export function gradientWork(
  { round, stage, direction, source, first, isLast }: Omit<GradientWork, "type" | "tasks">,
  segments: readonly BlobRef[],
): GradientWork {
  const tasks = segments.flatMap((input, i) => {
    const second = segments[i + 1];
    return i % 2 === 1 || second === undefined ? [] : [{ input, second }];
  });
  return { type: "gradient", round, stage, direction, source, first, isLast, tasks };
}

/** The subject that answers a replay. */
export function replaySubject(request: Replay, segments: readonly BlobRef[]): Subject {
  const { round, miner, task, source } = request;
  const { input, second, claimed } = replayWork(request, segments);
  const work = workHash(doneWork(request, { input, second, output: claimed }));
  return { type: "task", round, miner, task, work, parameters: sourceName(source) };
}
