/**
 * What the attack suite measures with: how far honest runs are apart that differ in nothing but the paces of their miners. An
 * attacked run's bound means something only as far as it lies above this.
 */

import { assert } from "@std/assert";
import { assertTrained, seeds } from "../support/attack/attack_checks.ts";
import { calm, runAttack } from "../support/attack/attacked_run.ts";
import { slowTest } from "../support/whole.ts";

const most = 0.02; // the attacks' bound is 0.03
const paces: readonly ((place: number) => number)[] = [
  (place) => 1 + place / 16,
  (place) => 1.5 - place / 16,
  (place) => 1 + (place * 5 % 9) / 9,
];

for (const seed of seeds) {
  slowTest(`Attack, calm: miners of other paces train as well, SEED=${seed}`, async () => {
    const before = await calm({ seed });
    for (const [i, slownessOf] of paces.entries()) {
      const after = await runAttack({ seed, slownessOf });
      assertTrained(after);
      const change = after.trueLoss / before.trueLoss - 1;
      assert(
        Math.abs(change) <= most,
        `paces ${i}: ${after.trueLoss} after ${before.trueLoss}, ${(100 * change).toFixed(2)} %`,
      );
    }
  });
}
