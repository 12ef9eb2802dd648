/** CLASP: its running estimates against the same computed from all samples at once, and numbers that must not enter. */

import { assert, assertAlmostEquals, assertEquals, assertGreater, assertLess } from "@std/assert";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import { addPathway, type ClaspBook, effectsOf, openClasp, type PathwayLoss } from "../../../core/score/clasp/clasp.ts";
import { certainty, stepsUntilKnown } from "../../../core/score/clasp/sample_size.ts";
import { gaussOf } from "../../support/small_gauss.ts";
import { prngOf } from "../../support/small_prng.ts";

const stages = 3;
const mates = 4;
const mostLoss = 20;

const minerOf = (stage: number, place: number): NodeId => nodeId(`${stage}-${place}`);

/** Random pathways; the miner 1-2 adds 0.5, 2-0 adds 0.2. */
function samplesOf({ count, seed }: { count: number; seed: number }): PathwayLoss[] {
  const draw = prngOf(seed), gauss = gaussOf(seed);
  return Array.from({ length: count }, () => {
    const miners = Array.from({ length: stages }, (_, stage) => minerOf(stage, draw(mates)));
    const harm = (miners[1] === "1-2" ? 0.5 : 0) + (miners[2] === "2-0" ? 0.2 : 0);
    const reference = 5 + 0.4 * gauss();
    return { miners, loss: reference + harm + 0.03 * gauss(), reference };
  });
}

const bookOf = (form: "plain" | "paired", samples: readonly PathwayLoss[]): ClaspBook => {
  const book = openClasp({ form, stages, mostLoss });
  for (const sample of samples) assert(addPathway(book, sample) !== null);
  return book;
};

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

Deno.test("CLASP: plain effects are means over pathways less the mean of the stage", () => {
  const samples = samplesOf({ count: 500, seed: 1 });
  for (const { stage, miner, samples: count, effect } of effectsOf(bookOf("plain", samples))) {
    const meanOfMiner = (node: NodeId) => meanOf(samples.filter((s) => s.miners[stage] === node).map((s) => s.loss));
    const ofStage = Array.from({ length: mates }, (_, place) => meanOfMiner(minerOf(stage, place)));
    assertAlmostEquals(effect, meanOfMiner(miner) - meanOf(ofStage), 1e-12);
    assertEquals(count, samples.filter((s) => s.miners[stage] === miner).length);
  }
});

Deno.test("CLASP: a standard error covers the plain effect as often as it should", () => {
  let within = 0, all = 0;
  for (let seed = 1; seed <= 100; seed++) {
    for (const { miner, effect, standardError } of effectsOf(bookOf("plain", samplesOf({ count: 200, seed })))) {
      const truth = truthOf(miner);
      within += Math.abs(effect - truth) <= 2 * standardError! ? 1 : 0;
      all += 1;
    }
  }
  assertGreater(within / all, 0.93);
  assertLess(within / all, 0.99);
});

/** Against the mean of the stage. */
function truthOf(miner: NodeId): number {
  if (miner.startsWith("1-")) return miner === "1-2" ? 0.375 : -0.125;
  if (miner.startsWith("2-")) return miner === "2-0" ? 0.15 : -0.05;
  return 0;
}

Deno.test("CLASP: the paired form finds with 200 pathways what the plain one does not see", () => {
  const samples = samplesOf({ count: 200, seed: 3 });
  const certain = (form: "plain" | "paired") =>
    effectsOf(bookOf(form, samples)).filter(({ effect, standardError }) => effect > certainty * standardError!)
      .map(({ miner }) => miner);
  assertEquals([certain("plain"), certain("paired").sort()], [["1-2"], ["1-2", "2-0"]]);
});

Deno.test("CLASP: losses that are not numbers do not enter, and an absurd one counts as the largest possible", () => {
  const book = openClasp({ form: "plain", stages: 1, mostLoss });
  const add = (loss: number, reference: number | null = null) =>
    addPathway(book, { miners: [minerOf(0, 0)], loss, reference });
  for (const loss of [NaN, Infinity, -Infinity, -1]) assertEquals(add(loss), null);
  assertEquals([book.samples, book.refused, book.places.size], [0, 4, 0]);
  assertEquals(add(1e300)?.value, mostLoss);
  const paired = openClasp({ form: "paired", stages: 1, mostLoss });
  for (const reference of [null, NaN, Infinity, -1]) {
    assertEquals(addPathway(paired, { miners: [minerOf(0, 0)], loss: 5, reference }), null);
  }
  assertEquals([paired.samples, paired.places.size], [0, 0]);
});

Deno.test("CLASP: a book has room for so many places and refuses pathways of more", () => {
  const book = openClasp({ form: "plain", stages: 1, mostLoss, mostPlaces: 2 });
  const add = (place: number) => addPathway(book, { miners: [minerOf(0, place)], loss: 5, reference: null }) !== null;
  assertEquals([add(0), add(1), add(2), add(0), book.refused], [true, true, false, true, 1]);
});

Deno.test("CLASP: so many more steps make a difference certain", () => {
  const rule = { steps: 10, smallest: 0.01 };
  assertEquals(stepsUntilKnown({ effect: 1, standardError: 0.2 }, rule), 0);
  assertEquals(stepsUntilKnown({ effect: 0, standardError: 0.01 / certainty }, rule), 0);
  assertEquals(stepsUntilKnown({ effect: 0.1, standardError: 0.2 / certainty }, rule), 30); // four times the steps
  assertEquals(stepsUntilKnown({ effect: 1, standardError: null }, rule), null);
});
