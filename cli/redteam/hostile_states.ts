/** Attackers that behave in a round's first step, which anybody can repeat, or do not show the parameters of later ones. */

import { type Hostile, instead, together } from "./hostile_node.ts";
import type { Spoil } from "./hostile_wires.ts";

/** Spoils in every step but the first of each round. */
export function inLaterSteps(
  { spoil, stepsPerRound }: { spoil: Spoil; stepsPerRound: number },
  make: (spoil: Spoil) => Hostile,
): Hostile {
  let step = 0; // the open one
  const later: Spoil = (values) => {
    if (step % stepsPerRound !== 0) spoil(values);
  };
  return together(make(later), {
    say: ({ message }) => {
      if (message.type === "stepSealed") step = message.step + 1;
      return [message];
    },
  });
}

/** Never says which parameters it used. */
export const showsNothing: Hostile = instead("stateShown", () => null);
