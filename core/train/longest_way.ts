/**
 * The update-norm bound: how far a stage's parameters can move, in sums of the learning rates of the steps taken.
 * `length` and `honestLength` bound the root mean square, `value` the largest value. The minimum limits leave room for
 * weight decay and rounding.
 */

import type { RunConfig } from "../config/config.ts";
import { optimizerOf, optimizers } from "./optimizers.ts";

export interface LongestWay {
  readonly length: number;
  readonly value: number;
  readonly honestLength: number; // no honest change exceeds it; `length` has more room
}

const least: LongestWay = { length: 4, value: 32, honestLength: 1.2 };
const margin = 1.1;

export function longestWay(config: RunConfig): LongestWay {
  const longest = optimizers[optimizerOf(config)].longestStep(config);
  return {
    length: Math.max(least.length, margin * longest.rootMeanSquare),
    value: Math.max(least.value, margin * longest.value),
    honestLength: Math.max(least.honestLength, longest.rootMeanSquare),
  };
}
