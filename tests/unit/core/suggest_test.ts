/** Which setting somebody meant. */

import { assertEquals } from "@std/assert";
import { didYouMean, editDistance } from "../../../core/settings/suggest.ts";
import { knobPaths } from "../../../core/config/knobs.ts";

Deno.test("Suggestions: the nearest path, or none", () => {
  assertEquals(didYouMean("train.stepPerRound", knobPaths), "train.stepsPerRound");
  assertEquals(didYouMean("model.context_length", knobPaths), "model.contextLength");
  assertEquals(didYouMean("leaseMs", knobPaths), "limits.leaseMs");
  assertEquals(didYouMean("outer.learningrate", knobPaths), "outer.learningRate");
  assertEquals(didYouMean("model.widht", knobPaths), "model.width", "neighbours swapped");
  assertEquals(didYouMean("x", knobPaths), null);
  assertEquals(didYouMean("completely.different", knobPaths), null);
  assertEquals([
    editDistance("", "abc"),
    editDistance("kitten", "sitting"),
    editDistance("ab", "ab"),
    editDistance("xab", "xba"),
  ], [3, 3, 0, 1]);
});
