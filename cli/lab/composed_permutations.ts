/**
 * A task that needs depth: the running product of random permutations.
 *
 * Owns its sequences, a pure function of seed and place. A run has `operations` fixed permutations of `states` things. A sequence
 * is a row of chains; a chain is a random state and then `hops` random operations, and the target of each position is the state
 * after it. Nothing is left to chance, so a perfect model has a loss of 0; one that guesses has ln(states).
 *
 * A block looks up the next state in a table of 256 entries if it sees the one before. To skip a hop it needs the 4,096 products
 * of two operations, to skip two hops 65,536: after 400 steps a model of one layer does the first hop, part of the second and
 * nothing of the third, where one of three layers does all (tests/bench/LOG.md).
 */

import type { RunConfig } from "../../core/config/config.ts";
import { keyOf, nextBelow, openStream, shuffle } from "../../core/prng.ts";
import type { Batch, BatchSource } from "../data/dataset.ts";

/** Tokens: states first, then operations. */
export const composition = { states: 16, operations: 16, hops: 3 } as const;

const heldOutWindows = 1 << 20;

/** Of the run: operations[g][s] is the state that operation g makes of state s. */
export function operationsOf(seed: number): readonly (readonly number[])[] {
  const { states, operations } = composition;
  return Array.from(
    { length: operations },
    (_, g) => shuffle(openStream(keyOf(seed, "operation", g)), Array.from({ length: states }, (_, s) => s)),
  );
}

export function composedPermutations({ seed, model: { contextLength }, train }: RunConfig): BatchSource {
  const operations = operationsOf(seed);
  const make = (label: string, { first, sequences }: { first: number; sequences: number }): Batch => {
    const inputs = new Uint32Array(sequences * contextLength);
    const targets = new Uint32Array(sequences * contextLength);
    for (let sequence = 0; sequence < sequences; sequence++) {
      const stream = openStream(keyOf(seed, label, first + sequence));
      let state = 0;
      for (let t = 0; t < contextLength; t++) {
        const at = sequence * contextLength + t;
        if (t % (composition.hops + 1) === 0) {
          state = nextBelow(stream, composition.states);
          inputs[at] = state;
        } else {
          const operation = nextBelow(stream, composition.operations);
          state = operations[operation]![state]!;
          inputs[at] = composition.states + operation;
        }
        targets[at] = state;
      }
    }
    return { inputs, targets };
  };
  const { sequencesPerMicrobatch } = train;
  return {
    windows: 2 ** 32,
    heldOutWindows,
    tokensOf: (microbatch) =>
      make("train", { first: microbatch * sequencesPerMicrobatch, sequences: sequencesPerMicrobatch }),
    heldOut: (sequences) => make("held-out", { first: 0, sequences }),
  };
}
