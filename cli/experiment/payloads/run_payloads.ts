/** `iota experiment payloads`: how well cheap values of a merge's payloads agree with leaving each of them out. */

import { present } from "../../../core/assert.ts";
import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { withLabData } from "../../lab/lab_data.ts";
import { configOf } from "../../lab/lab_settings.ts";
import { givenRun } from "../../options/run_options.ts";
import { openDevice } from "../../roles/open_device.ts";
import { behaviours, type PayloadValues, valuePayloads } from "./value_payloads.ts";

const heldOutSequences = 64;
const defaultSeeds = 3;

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
  const { options, output } = context;
  const { input } = await givenRun(context);
  const firstSeed = options.number("seed") ?? 1;
  const common = { "train.steps": 100, "train.stepsPerRound": 10 };
  const configs = Array.from(
    { length: options.number("seeds") ?? defaultSeeds },
    (_, i) => configOf({ common, input, fixed: { "pipeline.stages": 3, seed: firstSeed + i } }),
  );
  const signal = context.interruption();
  const folder = await Deno.makeTempDir({ prefix: "iota-experiment-" });
  const device = await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") });
  const all: PayloadValues[] = [];
  try {
    for (const config of configs) {
      output.line(
        `Seed ${config.seed}: trains ${config.train.steps} steps of ${config.size}, then eight replicas apart`,
      );
      const values = await withLabData(
        { folder, config },
        (batches) => valuePayloads({ config, batches, device, signal, heldOutSequences }),
      );
      output.event({ type: "values", seed: config.seed, behaviours, ...values });
      all.push(values);
    }
  } finally {
    await device.finish();
    await Deno.remove(folder, { recursive: true });
  }
  const rows = payloadsRows(all);
  output.line("");
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const heading = ["", "rank correlation with leaving out", "least", "tripled wrong sign last", "bad below honest"];
  const cells = rows.map(({ name, spearman, least, wrongSignLast, badBelowHonest }) => [
    ...[name, spearman.toFixed(3), least.toFixed(3), percent(wrongSignLast), percent(badBelowHonest)],
  ]);
  for (const line of alignedRows([heading, ...cells])) output.line(line);
  output.answer({ experiment: "payloads", rows }, "");
  return 0;
}

export function payloadsRows(all: readonly PayloadValues[]): PayloadsRow[] {
  const last = behaviours.indexOf("wrong sign, tripled");
  const bad = behaviours.flatMap((behaviour, i) => /^(noise|wrong sign)/.test(behaviour) ? [i] : []);
  const honest = behaviours.flatMap((behaviour, i) => behaviour === "honest" ? [i] : []);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return Object.entries(estimates).map(([name, pick]) => {
    const correlations = all.map((values) => spearman(values.leftOut, pick(values)));
    const pairs = all.map(pick).flatMap((values) =>
      honest.flatMap((good) => bad.map((worse) => Number(values[worse]! < values[good]!)))
    );
    return {
      ...{ name, spearman: mean(correlations), least: Math.min(...correlations) },
      wrongSignLast: mean(all.map(pick).map((values) => Number(Math.min(...values) === values[last]))),
      badBelowHonest: mean(pairs),
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
