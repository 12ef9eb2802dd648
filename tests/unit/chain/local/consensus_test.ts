/** Yuma consensus against exact fractions computed from its definition (tests/vectors/chain/make_yuma.py), and its invariants. */

import { assert, assertAlmostEquals, assertEquals, assertLessOrEqual } from "@std/assert";
import {
  type ConsensusInput,
  runConsensus,
  topByStake,
  weightedMedian,
} from "../../../../chain/local/epoch/consensus.ts";
import { fixedOf, fixedOne, ratio, sumOf, u16OfShare } from "../../../../chain/local/epoch/fixed.ts";
import type { SparseRow } from "../../../../chain/local/epoch/sparse_rows.ts";
import { prngOf } from "../../../support/small_prng.ts";
import vectors from "../../../vectors/chain/yuma.json" with { type: "json" };

const floatOf = (value: bigint): number => Number(value) / Number(fixedOne);
const rowsOf = (rows: readonly (readonly number[][])[]): SparseRow[] =>
  rows.map((row) => row.map(([j = 0, value = 0]) => [j, fixedOf(value)]));

/** Four validators of stake 4, 3, 2, 1 and four miners; `weights` by validator, over the miners. */
function inputOf(weights: readonly (readonly number[])[], more: Partial<ConsensusInput> = {}): ConsensusInput {
  const rows: SparseRow[] = [0, 1, 2, 3, 4, 5, 6, 7].map((uid) =>
    (weights[uid] ?? []).map((value, k) => [4 + k, fixedOf(value)] as const)
  );
  return {
    stakeRao: [4n, 3n, 2n, 1n, 0n, 0n, 0n, 0n],
    isVoting: [true, true, true, true, false, false, false, false],
    weights: rows,
    bonds: rows.map(() => []),
    ownerUid: null,
    maxValidators: 64,
    kappa: 32_767,
    bondsPenalty: 65_535,
    bondsMovingAverage: 900_000,
    ...more,
  };
}

for (const vector of vectors) {
  Deno.test(`Consensus: equal to exact fractions: ${vector.name}`, () => {
    const { name: _name, expected, stakeRao, weights, bonds, ...given } = vector;
    const output = runConsensus({
      ...given,
      stakeRao: stakeRao.map(BigInt),
      weights: rowsOf(weights),
      bonds: rowsOf(bonds),
    });
    for (const field of ["consensus", "validatorTrust", "incentive", "dividends"] as const) {
      output[field].forEach((share, uid) => assertAlmostEquals(floatOf(share), expected[field][uid] ?? NaN, 1e-7));
    }
    assertEquals(output.permits, expected.permits);
    const bondsOf = (rows: readonly (readonly (readonly number[])[])[]) => rows.map((row) => row.map(([uid]) => uid));
    assertEquals(bondsOf(output.bonds), bondsOf(expected.bonds));
    output.bonds.forEach((row, uid) =>
      row.forEach(([, bond], k) => assertLessOrEqual(Math.abs(bond - (expected.bonds[uid]?.[k]?.[1] ?? NaN)), 1))
    );
  });
}

Deno.test("Consensus: a minority's weights are clipped to what the majority gives", () => {
  const honest = [10, 10, 0, 0], greedy = [0, 0, 0, 10];
  const output = runConsensus(inputOf([honest, honest, greedy, greedy]));
  assertEquals(output.incentive.map(u16OfShare).slice(4), [32_767, 32_767, 0, 0]);
  assertEquals(output.validatorTrust.map(u16OfShare).slice(0, 4), [65_535, 65_535, 0, 0]);
  assertEquals(output.dividends.slice(2), [0n, 0n, 0n, 0n, 0n, 0n]);
});

Deno.test("Consensus: a validator that does not vote has no influence, whatever its stake", () => {
  const isVoting = [false, true, true, true, false, false, false, false];
  const output = runConsensus(inputOf([[0, 0, 0, 9], [5, 5, 0, 0], [5, 5, 0, 0], [5, 5, 0, 0]], { isVoting }));
  assertEquals(output.incentive[7], 0n);
  assertEquals(output.dividends[0], 0n);
  assert(output.permits[0]); // a permit follows stake alone
});

Deno.test("Consensus: bonds remember, so dividends follow a change of mind slowly", () => {
  const before = runConsensus(inputOf([[1, 0, 0, 0], [0, 1, 0, 0]], { stakeRao: [1n, 1n, 0n, 0n, 0n, 0n, 0n, 0n] }));
  const bonds = before.bonds.map((row) => row.map(([uid, bond]) => [uid, fixedOf(bond)] as const));
  const weights = [[0, 1, 0, 0], [0, 1, 0, 0]];
  const stakeRao = [1n, 1n, 0n, 0n, 0n, 0n, 0n, 0n];
  const slow = runConsensus(inputOf(weights, { stakeRao, bonds })).dividends.map(floatOf);
  const atOnce = runConsensus(inputOf(weights, { stakeRao, bonds, bondsMovingAverage: 0 })).dividends.map(floatOf);
  assertAlmostEquals(slow[0] ?? NaN, 0.05, 1e-6); // 10 % of the new bonds, of which half
  assertAlmostEquals(atOnce[0] ?? NaN, 0.5, 1e-6);
});

Deno.test("Consensus: shares add up to one, or to zero if no one earned, for any input", () => {
  const below = prngOf(11);
  for (let round = 0; round < 200; round++) {
    const stakeRao = Array.from({ length: 8 }, () => BigInt(below(5)) * BigInt(below(2 ** 31)));
    const isVoting = stakeRao.map(() => below(3) > 0);
    const weights = Array.from({ length: 8 }, () => Array.from({ length: 4 }, () => below(4) * below(65_536)));
    const output = runConsensus(inputOf(weights, { stakeRao, isVoting, kappa: below(65_536) }));
    for (const shares of [output.incentive, output.dividends, output.validatorShares]) {
      const sum = sumOf(shares);
      assert(sum === 0n || (sum <= fixedOne && sum > fixedOne - 64n), `round ${round}: ${sum}`);
    }
    output.validatorTrust.forEach((trust) => assertLessOrEqual(trust, fixedOne));
  }
});

Deno.test("Consensus: permits go to the largest stakes above zero, ties to the higher uid", () => {
  assertEquals(topByStake([5n, 1n, 5n, 0n], 2), [true, false, true, false]);
  assertEquals(topByStake([1n, 1n, 1n], 2), [false, true, true]);
  assertEquals(topByStake([0n, 0n, 7n], 2), [false, false, true]);
});

Deno.test("Consensus: the median is the first score that a majority reaches", () => {
  const thirds = [1n, 1n, 1n].map((each) => ratio(each, 3n));
  const median = (minority: bigint) => weightedMedian({ scores: [30n, 10n, 20n], voices: thirds, minority });
  assertEquals(median(ratio(1n, 2n)), 20n);
  assertEquals(median(ratio(9n, 10n)), 30n);
  assertEquals(median(0n), 10n);
});
