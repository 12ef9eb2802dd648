/**
 * A stage on a device whose free memory nobody knows before it is asked for: WebGPU does not say what a GPU has.
 *
 * Built first with everything it may keep, then, if the driver has no room, without kept forwards, then with its blocks computed
 * again in the backward: slower each time, and equal in every bit. Out of scope: limits that are known (stage_plan.ts).
 */

import type { StageOptions } from "../compute.ts";
import { TooLittleMemoryError } from "./too_large.ts";

/** Rejects with the last refusal. A `build` that rejects has freed what it took. */
export async function withLessKept<T>(options: StageOptions, build: (options: StageOptions) => Promise<T>): Promise<T> {
  let refusal: unknown;
  for (const attempt of attempts(options)) {
    try {
      return await build(attempt);
    } catch (error) {
      if (!(error instanceof TooLittleMemoryError)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** From what takes the most memory to what takes the least, without repetitions. */
function attempts(options: StageOptions): StageOptions[] {
  const { activationBytes = 0, recomputes = false } = options;
  const bare: StageOptions = { ...options, activationBytes: 0 };
  return [options, ...activationBytes > 0 ? [bare] : [], ...recomputes ? [] : [{ ...bare, recomputes: true }]];
}
