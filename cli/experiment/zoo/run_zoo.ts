/** `iota experiment zoo`: which behaviours of miners the original's audit rule accepts, and which this program's. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { plural } from "../../screen/format.ts";
import { meanOf } from "../sample_moments.ts";
import { forEachSeed } from "../seeded_runs.ts";
import { endWithRows } from "../told_rows.ts";
import { auditZoo, type Judgement } from "./audit_zoo.ts";
import { behaviours } from "./behaviours.ts";

/** Of the original's validator. */
const originalRule = { cosine: 0.9, normRatio: 0.8 };
const microbatches = 48; // of each seed

/** Over all microbatches and seeds. */
export interface ZooRow {
  readonly name: string;
  readonly honest: boolean;
  readonly cosine: number; // median
  readonly normRatio: number; // median
  readonly passesOriginal: number; // share of microbatches
  readonly innovationError: number; // median
  readonly leastError: number;
  readonly mostError: number;
  readonly equalShare: number; // median
  readonly passes: number; // share of microbatches within the run's tolerance
}

export async function runZoo(context: CommandContext): Promise<number> {
  const { output } = context;
  const all = new Map(behaviours.map(({ name }) => [name, [] as Judgement[]]));
  const settings = { common: { "train.steps": 100 }, fixed: { "pipeline.stages": 3, "pipeline.boundaries": "" } };
  let config: RunConfig | null = null; // of the first seed that was audited
  const auditAll = async () => {
    await forEachSeed(context, settings, async (options) => {
      const { seed, size, train: { steps } } = options.config;
      output.line(`Seed ${seed}: trains ${plural(steps, "step")} of ${size}, then audits a stage`);
      for (const [name, judgements] of await auditZoo({ ...options, microbatches })) all.get(name)?.push(...judgements);
      config ??= options.config;
    });
  };
  return await endWithRows(context, auditAll, () => {
    if (config === null) return { rows: [], table: [] };
    const rows = zooRows(all, config.validate.tolerance);
    for (const row of rows) output.event({ type: "row", ...row });
    return { rows, table: tableOf(rows), facts: { codec: config.pipeline.codec, ...ratesOf(rows) } };
  });
}

export function zooRows(judged: ReadonlyMap<string, readonly Judgement[]>, tolerance: number): ZooRow[] {
  return behaviours.map(({ name, isHonest: honest }) => {
    const of = judged.get(name) ?? [];
    const median = (pick: (judgement: Judgement) => number) => {
      const values = of.map(pick).sort((a, b) => a - b);
      return values[values.length >> 1] ?? NaN;
    };
    const share = (isSo: (judgement: Judgement) => boolean) => of.filter(isSo).length / of.length;
    return {
      ...{ name, honest, cosine: median(({ cosine }) => cosine), normRatio: median(({ normRatio }) => normRatio) },
      passesOriginal: share(({ cosine, normRatio }) =>
        cosine > originalRule.cosine && normRatio > originalRule.normRatio
      ),
      innovationError: median(({ error }) => error),
      leastError: Math.min(...of.map(({ error }) => error)),
      mostError: Math.max(...of.map(({ error }) => error)),
      equalShare: median(({ equalShare }) => equalShare),
      passes: share(({ error }) => error <= tolerance),
    };
  });
}

/** Of cheats found and honest work failed, and the share of the kinds of cheats that the original's rule mostly accepts. */
export function ratesOf(rows: readonly ZooRow[]): { found: number; falselyFailed: number; missedByOriginal: number } {
  const cheats = rows.filter(({ honest }) => !honest);
  return {
    found: 1 - meanOf(cheats.map(({ passes }) => passes)),
    falselyFailed: 1 - meanOf(rows.filter(({ honest }) => honest).map(({ passes }) => passes)),
    missedByOriginal: meanOf(cheats.map(({ passesOriginal }) => Number(passesOriginal > 0.5))),
  };
}

function tableOf(rows: readonly ZooRow[]): string[] {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const heading = [
    "",
    "cosine",
    "norms",
    "original passes",
    "innovation",
    "least",
    "most",
    "equal values",
    "passes here",
  ];
  const cells = rows.map((row) => [
    ...[row.name, row.cosine.toFixed(3), row.normRatio.toFixed(3), percent(row.passesOriginal)],
    ...[row.innovationError.toPrecision(2), row.leastError.toPrecision(2), row.mostError.toPrecision(2)],
    ...[row.equalShare.toFixed(2), percent(row.passes)],
  ]);
  return alignedRows([heading, ...cells]);
}
