/**
 * Converts scores by hotkey to a row by uid when it is sent.
 *
 * Uids are those held now: a hotkey that has left is dropped, and so is one that registered (again) after its score was
 * made, because the score belongs to another registration.
 */

import type { Metagraph, Neuron, SubnetParameters } from "../chain.ts";
import { type Conformed, conformWeights } from "../weights/conform.ts";
import type { Scores } from "./duty.ts";

export function planRow(options: {
  readonly scores: Scores;
  readonly metagraph: Metagraph;
  readonly own: Neuron;
  readonly parameters: SubnetParameters;
}): Conformed {
  const { scores, metagraph, own, parameters } = options;
  const scored = metagraph.neurons.flatMap(({ uid, hotkey, registeredAtBlock }) => {
    const score = Object.hasOwn(scores.byHotkey, hotkey) ? scores.byHotkey[hotkey]! : 0;
    const isDropped = score === 0 || registeredAtBlock > scores.block;
    return isDropped ? [] : [{ uid, score }];
  });
  const { minAllowedWeights, maxWeightsLimit } = parameters;
  return conformWeights(scored, { ownUid: own.uid, minAllowedWeights, maxWeightsLimit });
}
