/** The samples that each form of CLASP needs, drawn from given damages. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { type ClaspRow, rowsOf } from "../../lab/experiments/clasp/clasp_rows.ts";
import type { Damage } from "../../lab/experiments/clasp/measure_damage.ts";
import type { Form } from "../../lab/experiments/clasp/simulate.ts";
import { gaussOf } from "../../support/small_gauss.ts";

/** Texts differ by 0.3, replicas by 0.01, whole paths by 0.03; a cheat costs about 0.1. */
function damageOf(seed: number): Damage {
  const gauss = gaussOf(seed);
  const losses = Array.from({ length: 96 }, () => 4 + 0.3 * gauss());
  const damages = losses.map(() => 0.1 + 0.03 * gauss());
  return { losses, replicaDeviation: 0.01, pathDeviation: 0.03, attacks: [{ name: "cheats", damages }] };
}

const damages = [damageOf(1), damageOf(2)];
const rowOf = (rows: readonly ClaspRow[], form: Form) => rows.find((row) => row.form === form)!;

Deno.test("CLASP experiment: pairs find cheats with a tenth of the samples that the plain form needs", () => {
  const rows = rowsOf(damages, "cheats");
  const plain = rowOf(rows, "plain"), swapped = rowOf(rows, "paired by a swap");
  assert(plain.samplesNeeded !== null && swapped.samplesNeeded !== null);
  assertLess(swapped.samplesNeeded, plain.samplesNeeded / 10);
  assertLess(plain.aucAtPaired!, 0.9);
  assertLess(rowOf(rows, "paired with a second path").samplesNeeded!, plain.samplesNeeded);
});

Deno.test("CLASP experiment: where nobody cheats, hardly an honest miner is called harmful", () => {
  for (const row of rowsOf(damages, null)) {
    assertEquals([row.damage, row.samplesNeeded], [0, null]);
    assertLess(row.flaggedHonest, 0.005);
  }
});
