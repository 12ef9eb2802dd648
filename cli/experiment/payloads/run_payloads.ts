/** `iota experiment payloads`: how well cheap values of a merge's payloads agree with leaving each of them out. */

import { present } from "../../../core/assert.ts";
import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { plural } from "../../screen/format.ts";
import { meanOf } from "../sample_moments.ts";
import { forEachSeed } from "../seeded_runs.ts";
import { endWithRows } from "../told_rows.ts";
import { behaviours, type PayloadValues, valuePayloads } from "./value_payloads.ts";

const heldOutSequences = 64;

export interface PayloadsRow {
  readonly name: string; // of the estimate
  readonly spearman: number; // with leaving out, mean over seeds
  readonly least: number;
  readonly wrongSignLast: number; // share of seeds in which the tripled wrong sign ranks last
  readonly badBelowHonest: number; // share of pairs of an honest payload and one of noise or the wrong sign
}

const estimates = {
  "gradient at the start": ({ gradientAtStart }: PayloadValues) => gradientAtStart,
  "gradient at both ends": ({ gradientAtBothEnds }: PayloadValues) => gradientAtBothEnds,
  "the start with it alone": ({ alone }: PayloadValues) => alone,
} as const;

export async function runPayloads(context: CommandContext): Promise<number> {
  const { output } = context;
  const common = { "train.steps": 100, "train.stepsPerRound": 10 };
  const all: PayloadValues[] = [];
  const valueAll = async () => {
    await forEachSeed(context, { common, fixed: { "pipeline.stages": 3 } }, async (options) => {
      const { seed, size, train: { steps } } = options.config;
      output.line(`Seed ${seed}: trains ${plural(steps, "step")} of ${size}, then eight replicas apart`);
      const values = await valuePayloads({ ...options, heldOutSequences });
      output.event({ type: "values", seed, behaviours, ...values });
      all.push(values);
    });
  };
  return await endWithRows(context, valueAll, () => {
    const rows = all.length === 0 ? [] : payloadsRows(all);
    return { rows, table: tableOf(rows) };
  });
}

function tableOf(rows: readonly PayloadsRow[]): string[] {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const heading = ["", "rank correlation with leaving out", "least", "tripled wrong sign last", "bad below honest"];
  const cells = rows.map(({ name, spearman, least, wrongSignLast, badBelowHonest }) => [
    ...[name, spearman.toFixed(3), least.toFixed(3), percent(wrongSignLast), percent(badBelowHonest)],
  ]);
  return alignedRows([heading, ...cells]);
}

export function payloadsRows(all: readonly PayloadValues[]): PayloadsRow[] {
  const last = behaviours.indexOf("wrong sign, tripled");
  const bad = behaviours.flatMap((behaviour, i) => /^(noise|wrong sign)/.test(behaviour) ? [i] : []);
  const honest = behaviours.flatMap((behaviour, i) => behaviour === "honest" ? [i] : []);
  return Object.entries(estimates).map(([name, pick]) => {
    const correlations = all.map((values) => spearman(values.leftOut, pick(values)));
    const pairs = all.map(pick).flatMap((values) =>
      honest.flatMap((good) => bad.map((worse) => Number(values[worse]! < values[good]!)))
    );
    return {
      ...{ name, spearman: meanOf(correlations), least: Math.min(...correlations) },
      wrongSignLast: meanOf(all.map(pick).map((values) => Number(Math.min(...values) === values[last]))),
      badBelowHonest: meanOf(pairs),
    };
  });
}

/** Spearman's rank correlation of values without ties. */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const [ofA, ofB] = [ranksOf(a), ranksOf(b)];
  const squares = ofA.reduce((sum, rank, i) => sum + (rank - present(ofB[i], "lists have one length")) ** 2, 0);
  return 1 - 6 * squares / (a.length * (a.length ** 2 - 1));
}

function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((x, y) => x - y);
  return values.map((value) => sorted.indexOf(value));
}
