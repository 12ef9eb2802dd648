/** Attackers that behave in a round's first step, which anybody can repeat, or do not show the parameters of later ones. */

import { joinsAnew } from "./hostile_merges.ts";
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

/** When it is to say so, it does its part in the round's merge, leaves and joins anew, which loses nothing of its work. */
export function leavesUnshown(): Hostile {
  let isAsked = false;
  return {
    say: ({ message }) => {
      if (message.type === "stateShown") {
        isAsked = true;
        return [];
      }
      if (message.type !== "mergeApplied" || !isAsked) return [message];
      isAsked = false;
      return [message, { type: "leaving", reason: "bye" }, joinsAnew];
    },
  };
}
