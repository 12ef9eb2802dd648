/** The runs of an experiment's rows: a configuration for each seed, checked before anything is computed. */

import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { ResolveInput } from "../../../core/settings/parse.ts";
import { configOf, patience } from "../world/lab_settings.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import type { Experiment, Row } from "./experiments.ts";

export interface PlannedRow {
  readonly row: Row;
  readonly configs: readonly RunConfig[]; // one a seed
}

export interface RowPlan {
  readonly rows: readonly PlannedRow[];
  readonly repetitions: readonly Repetition[];
}

/** A row that would be trained as an earlier one is, and is left out. */
export interface Repetition {
  readonly name: string;
  readonly earlier: string;
}

export function planRows(
  experiment: Experiment,
  { input, seeds }: { input: ResolveInput; seeds: readonly number[] },
): RowPlan {
  const rows = new Map<string, PlannedRow>();
  const repetitions: Repetition[] = [];
  for (const row of experiment.rows) {
    const configs = seeds.map((seed) => configFor(row, { experiment, input, seed }));
    const { links, slowness, family, wires } = row;
    const key = JSON.stringify([present(configs[0], "there is a seed"), { links, slowness, family, wires }]);
    const earlier = rows.get(key);
    if (earlier === undefined) rows.set(key, { row, configs });
    else repetitions.push({ name: row.name, earlier: earlier.row.name });
  }
  return { rows: [...rows.values()], repetitions };
}

function configFor(
  { name, settings, stepShare = 1 }: Row,
  { experiment, input, seed }: { experiment: Experiment; input: ResolveInput; seed: number },
): RunConfig {
  const given = { common: experiment.settings, own: settings, input };
  const fixed = { ...patience, seed };
  const config = configOf({ ...given, fixed });
  if (stepShare === 1) return config;
  const { steps } = config.train;
  const multiple = 1 / stepShare;
  if (steps % multiple === 0) return configOf({ ...given, fixed: { ...fixed, "train.steps": steps * stepShare } });
  throw new UsageError(
    `train.steps is ${steps}, not a multiple of ${multiple}, so the row '${name}' would train on another number of tokens`,
    { next: `For example: --steps ${multiple * Math.ceil(steps / multiple)}` },
  );
}
