/** Validators that repeat nothing and say what suits them. */

import { type Hostile, instead, together } from "./hostile_node.ts";

export const failsEverybody: Hostile = together(
  instead("replayed", ({ message }) => ({ ...message, innovationError: 1e6, equalShare: 0 })),
  instead("gradientRepeated", ({ message }) => ({
    ...message,
    squareSum: message.squareSum === null ? null : 1e6 * message.squareSum,
  })),
);

/** Nobody tells it the norm of a gradient, so it guesses. */
export const passesEverybody: Hostile = together(
  instead("replayed", ({ message }) => ({
    ...message,
    innovationError: 0,
    equalShare: 1,
    lossError: message.lossError === null ? null : 0,
  })),
  instead("gradientRepeated", ({ message }) => ({ ...message, squareSum: message.squareSum === null ? null : 1 })),
);
