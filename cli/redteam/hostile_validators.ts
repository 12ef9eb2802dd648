/** Validators that repeat nothing and say what suits them. */

import { type Hostile, instead } from "./hostile_node.ts";

export const failsEverybody: Hostile = instead("replayed", ({ message }) => ({
  ...message,
  innovationError: 1e6,
  equalShare: 0,
}));

export const passesEverybody: Hostile = instead("replayed", ({ message }) => ({
  ...message,
  innovationError: 0,
  equalShare: 1,
  lossError: message.lossError === null ? null : 0,
}));
