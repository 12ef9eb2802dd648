/** AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101). */

import { longestAdamStep } from "./adam_bound.ts";
import { type Optimizer, wholeVector } from "./optimizer.ts";

export const adamw: Optimizer = {
  stateVectors: (table) => [
    { name: "firstMoments", covers: wholeVector(table) },
    { name: "secondMoments", covers: wholeVector(table) },
  ],
  longestStep: ({ train }) => {
    const longest = longestAdamStep(train); // of each value, and so of their root mean square
    return { value: longest, rootMeanSquare: longest };
  },
  largestRate: { rate: 0.01, error: 2.2e-4, beyond: { rate: 0.02, error: 1.5e-3 } },
};
