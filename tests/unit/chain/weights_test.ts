/** Weights against the SDK's own numbers, and the chain's scaling against a plain reading of its rule. */

import { assert, assertEquals } from "@std/assert";
import { decodeAddress } from "../../../chain/wallet/ss58.ts";
import { clipToMaxWeight, type ConformRefusal, conformWeights } from "../../../chain/weights/conform.ts";
import { saltedCommitHash } from "../../../chain/weights/salted_commit.ts";
import { isSameRow, isWithinMaxWeight, storedRowOf, upscaled } from "../../../chain/weights/stored_row.ts";
import { prngOf } from "../../support/small_prng.ts";
import saltedVectors from "../../vectors/chain/salted.json" with { type: "json" };
import cases from "../../vectors/chain/weights.json" with { type: "json" };

const listOf = (text: string) => text === "" ? [] : text.split(" ");
const numberOf = (text: string) => text === "inf" ? Infinity : text === "nan" ? NaN : Number(text);

const reasons: readonly [RegExp, ConformRefusal][] = [
  [/finite and non-negative/, "badNumber"],
  [/All weights are zero/, "allZero"],
  [/requires at least/, "tooFew"],
];

Deno.test("Weights: rows equal the SDK's, value by value, and what it refuses is refused", () => {
  for (const each of cases) {
    const uids = listOf(each.uids).map(Number), weights = listOf(each.weights).map(numberOf);
    const found = conformWeights(uids.map((uid, i) => ({ uid, score: weights[i]! })), each);
    const where = JSON.stringify(each);
    if (each.row === undefined) {
      const expected = reasons.find(([pattern]) => pattern.test(each.refusal))?.[1];
      const reason = found.ok ? null : found.reason;
      const isBoth = expected === "tooFew" && reason === "limitTooLow"; // too few for either limit
      assert(reason === expected || isBoth, where);
      continue;
    }
    const pairs = listOf(each.row).map((pair) => pair.split(":").map(Number));
    const values = pairs.map(([, value]) => value!);
    const isSelfWeight = uids.length === 1 && uids[0] === each.ownUid;
    if (isSelfWeight || isWithinMaxWeight(values, each.maxWeightsLimit)) {
      assertEquals(found, { ok: true, row: { uids: pairs.map(([uid]) => uid!), values } }, where);
    } else { // the chain would refuse the SDK's row
      assert(
        found.ok ? isWithinMaxWeight(found.row.values, each.maxWeightsLimit) : found.reason === "limitTooLow",
        where,
      );
    }
  }
});

Deno.test("Weights: a bad number is refused even where clipping would hide it", () => {
  const limits = { ownUid: 0, minAllowedWeights: 0, maxWeightsLimit: 100 };
  for (const score of [NaN, -1, Infinity]) {
    const found = conformWeights([{ uid: 1, score: 1 }, { uid: 2, score }], limits);
    assertEquals(found.ok ? null : found.reason, "badNumber");
  }
});

Deno.test("Weights: what conforms passes the chain's own limits", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const below = prngOf(seed);
    const scores = Array.from({ length: 8 + below(200) }, (_, uid) => ({ uid, score: below(1_000_000) ** 3 + 1 }));
    const maxWeightsLimit = 9_000 + below(50_000);
    const found = conformWeights(scores, { ownUid: 999, minAllowedWeights: 0, maxWeightsLimit });
    assert(found.ok && isWithinMaxWeight(found.row.values, maxWeightsLimit), `seed ${seed}`);
    assertEquals(Math.max(...found.row.values), 65_535);
  }
});

Deno.test("Weights: a uid has one score", () => {
  const limits = { ownUid: 0, minAllowedWeights: 0, maxWeightsLimit: 65_535 };
  const found = conformWeights([{ uid: 1, score: 1 }, { uid: 2, score: 1 }, { uid: 1, score: 1 }], limits);
  assertEquals(found.ok ? null : found.reason, "duplicateUid");
});

Deno.test("Weights: clipping moves the excess to the others", () => {
  const clipped = clipToMaxWeight([10, 1, 1, 1], 0.4);
  assert(Math.abs(clipped[0]! - 0.4) < 1e-6 && Math.abs(clipped.reduce((a, b) => a + b) - 1) < 1e-12);
  assertEquals(clipToMaxWeight([5, 1, 1], 0.2), [1 / 3, 1 / 3, 1 / 3]);
});

Deno.test("Stored row: the chain's scaling as the real runtime showed it", () => {
  assertEquals(upscaled([1, 3]), [21_845, 65_535]);
  assertEquals(upscaled([1, 1, 2]), [32_768, 32_768, 65_535]);
  assertEquals(upscaled([0, 0]), [0, 0]);
  assertEquals(upscaled([]), []);
});

Deno.test("Stored row: our row reads back as sent", () => {
  const below = prngOf(3);
  const values = Array.from({ length: 256 }, () => 1 + below(65_535)).with(9, 65_535);
  assertEquals(upscaled(values), values);
  const row = { uids: [7, 2, 5], values: [100, 65_535, 3] };
  const stored = storedRowOf(row);
  assertEquals(stored, [{ uid: 2, value: 65_535 }, { uid: 5, value: 3 }, { uid: 7, value: 100 }]);
  assert(
    isSameRow(stored, [{ uid: 7, value: 100 }, { uid: 1, value: 0 }, { uid: 5, value: 3 }, { uid: 2, value: 65_535 }]),
  );
  assert(!isSameRow(stored, stored.slice(1)));
  assert(!isSameRow(stored, stored.map((each) => ({ ...each, value: each.value === 3 ? 4 : each.value }))));
});

Deno.test("Stored row: the limit is the chain's, to the last bit of its fixed point", () => {
  assert(isWithinMaxWeight([1], 65_535));
  assert(!isWithinMaxWeight([1], 65_534));
  assert(isWithinMaxWeight([65_535, 65_535], 32_768));
  assert(!isWithinMaxWeight([65_535, 65_535], 32_767)); // a half against 0.49999
});

Deno.test("Salted commit: the hash equals the SDK's", () => {
  for (const { address, netuid: index, uids, values, salt, version_key, hash } of saltedVectors) {
    const publicKey = decodeAddress(address)!;
    const at = { netuid: index % 4_096, mechanism: Math.floor(index / 4_096) };
    const made = saltedCommitHash({ ...at, publicKey, row: { uids, values }, salt, versionKey: BigInt(version_key) });
    assertEquals(`0x${made.toHex()}`, hash);
  }
});
