/** What a payload's gain on held-out text is worth beside its peers'. */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import {
  noteQualities,
  payloadQualities,
  recoverQualities,
  shareRecovery,
} from "../../../core/score/payload_quality.ts";

const tokens = 10_000; // a gain of 0.015 nats says something

Deno.test("Payload quality: gains like those of the others count in full, however they differ among honest miners", () => {
  assertEquals(payloadQualities({ base: 4, tokens, losses: [3.9, 3.94, 3.87] }), [1, 1, 1]);
});

Deno.test("Payload quality: nothing gained, or worse, is worth nothing, a little gained a share", () => {
  assertEquals(payloadQualities({ base: 4, tokens, losses: [4, 3.9, 3.9] }), [0, 1, 1]);
  assertEquals(payloadQualities({ base: 4, tokens, losses: [4.1, 3.9] }), [0, 1]);
  assertEquals(payloadQualities({ base: 4, tokens, losses: [Infinity, 3.9, 3.9] }), [0, 1, 1]);
  const [little] = payloadQualities({ base: 4, tokens, losses: [3.99, 3.9, 3.9] });
  assertAlmostEquals(little!, 0.4, 1e-9);
});

Deno.test("Payload quality: an honest miner among liars that gain nothing is not the outlier", () => {
  assertEquals(payloadQualities({ base: 4, tokens, losses: [3.9, 4.1, 4.1] }), [1, null, null]);
});

Deno.test("Payload quality: where the others gain no more than chance does, nothing is judged", () => {
  assertEquals(payloadQualities({ base: 4, tokens, losses: [4.02, 3.99, 3.99] }), [null, null, null]);
  assertEquals(payloadQualities({ base: 4, tokens: 128, losses: [4, 3.9, 3.9] }), [null, null, null], "of few tokens");
  assertEquals(payloadQualities({ base: 4, tokens, losses: [3.9] }), [1], "nobody to compare with");
});

Deno.test("Payload quality: an inconclusive evaluation leaves a miner's share as it is", () => {
  const [bad, good] = [nodeId("bad"), nodeId("good")];
  const qualities = new Map([[bad, 0.25]]);
  noteQualities(qualities, { miners: [bad, good], shares: [null, null] });
  assertEquals([...qualities], [[bad, 0.25]]);
  recoverQualities(qualities, shareRecovery);
  assertEquals(qualities.get(bad), 0.375);
  noteQualities(qualities, { miners: [bad, good], shares: [1, 0.5] });
  assertEquals([...qualities], [[good, 0.5]]);
});
