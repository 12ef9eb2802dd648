/** Bell-shaped values for tests, the same for a seed: sums of four uniform draws, standard deviation 1. */

import { prngOf } from "./small_prng.ts";

export function gaussOf(seed: number): () => number {
  const draw = prngOf(seed);
  const uniform = () => draw(2 ** 24) / 2 ** 24 - 0.5;
  return () => Math.sqrt(3) * (uniform() + uniform() + uniform() + uniform());
}
