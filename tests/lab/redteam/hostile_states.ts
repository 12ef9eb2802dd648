/** Attackers that behave in a round's first step, which anybody can repeat, or do not open the parameters of later ones. */

import { fault } from "../../../core/fault.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import type { StageInput } from "../../../gpu/compute.ts";
import { joinsAnew } from "./hostile_merges.ts";
import { type Hostile, instead, together } from "./hostile_node.ts";
import { skipsLayers } from "./hostile_tasks.ts";
import type { Spoil } from "./hostile_wires.ts";

/** Spoils in every step but the first of each round. */
export function inLaterSteps(
  { spoil, stepsPerRound }: { spoil: Spoil; stepsPerRound: number },
  make: (spoil: Spoil) => Hostile,
): Hostile {
  const steps = openSteps();
  const later: Spoil = (values) => {
    if (steps.open % stepsPerRound !== 0) spoil(values);
  };
  return together(make(later), steps.watch);
}

/**
 * Passes on what it is given, in every step but the first of each round, in every nth task, which an input's bytes
 * decide.
 */
export function skipsLater({ stepsPerRound, every }: { stepsPerRound: number; every: number }): Hostile {
  const steps = openSteps();
  return together({
    compute: (honest, spec) => {
      const skipping = skipsLayers.compute?.(honest, spec) ?? {};
      const { forward = honest.forward, backward = honest.backward } = skipping;
      const isDone = (input: StageInput) =>
        steps.open % stepsPerRound === 0 || (input.type === "wire" && sumOf(input.wire) % every !== 0);
      return {
        forward: (input, ...rest) => (isDone(input) ? honest.forward : forward)(input, ...rest),
        backward: (input, ...rest) => (isDone(input) ? honest.backward : backward)(input, ...rest),
      };
    },
  }, steps.watch);
}

const sumOf = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum + byte, 0);

/**
 * Passes on what it is given going forward in every step but the first of each round, and leaves all gradients of these
 * steps to others, so that it has none to confirm. `leaves`: when it is given one it goes and joins anew, so that it is
 * never here when such a step closes.
 */
export function forwardsOnly(stepsPerRound: number, { leaves = false } = {}): Hostile {
  const perStep = 9; // microbatches; see common in run_redteam.ts
  let isLater = false;
  return {
    compute: (honest, spec) => {
      const { forward = honest.forward } = skipsLayers.compute?.(honest, spec) ?? {};
      return { forward: (...given) => (isLater ? forward : honest.forward)(...given) };
    },
    say: ({ message }) => {
      if (message.type === "mergeApplied") isLater = false;
      if (message.type !== "taskDone") return [message];
      const [microbatch, , direction] = message.task.split(".");
      isLater = Math.floor(Number(microbatch) / perStep) % stepsPerRound !== 0;
      if (!isLater || direction === "forward") return [message];
      return leaves ? [{ type: "leaving", reason: "bye" }, joinsAnew] : [];
    },
  };
}

/** The open step, as a member knows it. */
function openSteps(): { readonly open: number; readonly watch: Hostile } {
  let open = 0;
  const watch: Hostile = {
    say: ({ message }) => {
      if (message.type === "stepSealed") open = message.step + 1;
      return [message];
    },
  };
  return {
    get open() {
      return open;
    },
    watch,
  };
}

/** Never says which parameters it used. */
export const showsNothing: Hostile = instead("stateShown", () => null);

/** When asked for them, it does its part in the round's merge, leaves and joins anew, which loses nothing of its work. */
export const leavesUnshown = (): Hostile =>
  atMergeIfAsked((message) => [message, { type: "leaving", reason: "bye" }, joinsAnew]);

/** When asked for them, it fails in the round's merge and so loads its stage anew. */
export const failsUnshown = (): Hostile =>
  atMergeIfAsked(({ round }) => [{ type: "mergeFailed", round, fault: fault("limitExceeded", "out of memory") }]);

type Merged = Extract<NodeMessage, { type: "mergeApplied" }>;

/** Opens no parameters, and does something else in a round's merge when it was asked for them. */
function atMergeIfAsked(act: (message: Merged) => NodeMessage[]): Hostile {
  let isAsked = false;
  return {
    say: ({ message }) => {
      if (message.type === "stateShown") {
        isAsked = true;
        return [];
      }
      if (message.type !== "mergeApplied" || !isAsked) return [message];
      isAsked = false;
      return act(message);
    },
  };
}
