/** The accumulated gradient of a symbolic stage: the digest of what was added, in order, and the squared norm that follows. */

import type { BlobHash, BlobRef, Direction } from "../../../../core/ids.ts";
import { digest, unitOf } from "../digest.ts";

export interface SymbolicGradient {
  readonly sum: BlobHash;
  readonly tasks: number;
}

export const noGradient: SymbolicGradient = { sum: digest("no gradient"), tasks: 0 };

interface AddedTask {
  readonly direction: Direction;
  readonly input: BlobRef;
  readonly second: BlobRef;
}

/** With these and one more. */
export function withTask(
  { sum, tasks }: SymbolicGradient,
  { task: { direction, input, second }, parameters }: { task: AddedTask; parameters: BlobHash },
): SymbolicGradient {
  return { sum: digest("accumulate", sum, direction, input.hash, second.hash, parameters), tasks: tasks + 1 };
}

/** `steps`: taken since the first one of the run, for a norm that falls. */
export function squareSumOf({ sum, tasks }: SymbolicGradient, steps: number): number {
  return tasks ** 2 / (1 + steps / 50) * (0.5 + unitOf(sum));
}
