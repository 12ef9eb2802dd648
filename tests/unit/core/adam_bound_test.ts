/** How far AdamW can move a value: the closed form against the gradients that reach it, and what follows for a run's settings. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { longestAdamStep } from "../../../core/train/adam_bound.ts";

/** The step after these gradients, newest last, with bias correction. */
function adamStep(gradients: readonly number[], { beta1, beta2 }: { beta1: number; beta2: number }): number {
  let m = 0, v = 0;
  for (const g of gradients) {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
  }
  const t = gradients.length;
  return m / (1 - beta1 ** t) / Math.sqrt(v / (1 - beta2 ** t));
}

const settings = [[0.9, 0.95], [0.9, 0.999], [0.95, 0.95], [0, 0.99], [0.5, 0.5], [0.9, 0.82]].map(
  ([beta1, beta2]) => ({ beta1: beta1!, beta2: beta2! }),
);

Deno.test("Adam bound: no gradients go beyond it, and the worst ones reach it", () => {
  for (const setting of settings) {
    const { beta1, beta2 } = setting;
    const bound = longestAdamStep(setting);
    // Equality in Cauchy and Schwarz: each gradient in proportion to (b1 / b2)^age.
    const growth = beta1 / beta2;
    const many = growth > 1 ? 3_000 : 30_000; // beyond it the newest gradient would be zero
    for (const steps of [1, 2, 5, 20, 100, many]) {
      const worst = Array.from({ length: steps }, (_, i) => growth ** (growth > 1 ? -i : steps - 1 - i));
      const step = adamStep(worst, setting);
      assert(step <= bound * (1 + 1e-9), `${JSON.stringify(setting)}: ${step} of ${bound} after ${steps}`);
      if (steps === many) assertAlmostEquals(step / bound, 1, 1e-6);
    }
  }
});

Deno.test("Adam bound: there is none where the second moment forgets as fast as the square of the first", () => {
  assertEquals(longestAdamStep({ beta1: 0.9, beta2: 0.8 }), Infinity);
  assertEquals(longestAdamStep({ beta1: 0, beta2: 0 }), Infinity);
  assert(
    adamStep([...new Array<number>(1_000).fill(1e9), ...new Array<number>(40).fill(0)], { beta1: 0.9, beta2: 0.6 }) > 4,
  );
});
