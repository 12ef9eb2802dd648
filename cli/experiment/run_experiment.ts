/**
 * `iota experiment`: trains every row of an experiment with several seeds and says how far each ends from the control.
 *
 * A gap is the mean over seeds of (row's loss - control's loss with the same seed), and its standard error is that of this mean.
 */

import { openProgress } from "../output/progress.ts";
import { present } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { CommandContext } from "../command.ts";
import { givenRun } from "../options/run_options.ts";
import { UsageError } from "../output/errors.ts";
import { parseLinks } from "../chaos/link_shape.ts";
import { openDevice } from "../roles/open_device.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { decimal } from "../screen/format.ts";
import { alignedRows } from "../lab/aligned_rows.ts";
import { type Experiment, experimentNames, experiments, type Row } from "./experiments.ts";
import { meanOf, standardErrorOf } from "./sample_moments.ts";
import { withLabData } from "../lab/lab_data.ts";
import { configOf, patience } from "../lab/lab_settings.ts";
import { type LabResult, runLab } from "../lab/lab_swarm.ts";

export interface ExperimentRow {
  readonly name: string;
  readonly bytesForward: number;
  readonly bytesBackward: number;
  readonly mergeBytesPerParameter: number;
  readonly tokensPerSecond: number; // of virtual time
  readonly loss: number; // mean over seeds
  readonly gap: number;
  readonly standardError: number | null; // of the gap; null: one seed
  readonly seeds: number;
}

const longestName = 28;

interface Lab {
  readonly folder: string; // of datasets
  readonly device: ComputeHost;
  readonly signal: AbortSignal;
}

export async function runExperiment(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const experiment = withRows(experimentNamed(context.positionals[0]), options.text("rows"));
  const seeds = options.number("seeds") ?? 3;
  const given = await givenRun(context);
  const firstSeed = options.number("seed") ?? 1;
  const runs = Array.from({ length: seeds }, (_, i) =>
    experiment.rows.map((row) => ({
      row,
      config: configOf({
        ...{ common: experiment.settings, own: row.settings, input: given.input },
        fixed: { ...patience, seed: firstSeed + i },
      }),
    }))).flat(); // before anything is computed, so that a wrong setting is found at once
  const lab: Lab = {
    folder: await Deno.makeTempDir({ prefix: "iota-experiment-" }),
    device: await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") }),
    signal: context.interruption(),
  };
  try {
    output.line(`${context.positionals[0]}: ${experiment.doc}; ${runs[0]!.config.train.steps} steps, ${seeds} seeds`);
    const results = new Map<string, LabResult[]>(experiment.rows.map(({ name }) => [name, []]));
    const steps = runs.reduce((sum, { config }) => sum + config.train.steps, 0);
    const progress = openProgress(output, "training", "steps");
    let done = 0;
    for (const { row, config } of runs) {
      const { name } = row;
      const onStep = () => progress.at(++done, steps, `${name}, seed ${config.seed}`);
      const result = await trained(context, { row, config, lab, onStep });
      present(results.get(name), "a row has its results").push(result);
      output.event({ type: "run", name, seed: config.seed, ...result });
      output.line(`${name.padEnd(longestName)} seed ${config.seed}  ${decimal(result.loss)} nats per token`);
    }
    progress.close();
    const rows = rowsOf(results);
    output.line("");
    for (const line of tableOf(rows)) output.line(line);
    output.answer({ experiment: context.positionals[0], rows }, "");
    return 0;
  } finally {
    await lab.device.finish();
    await Deno.remove(lab.folder, { recursive: true });
  }
}

function experimentNamed(name: string | undefined): Experiment {
  const experiment = name === undefined ? undefined : experiments[name];
  if (experiment !== undefined) return experiment;
  throw new UsageError(
    `Cannot run an experiment as its name must be one of ${experimentNames.join(", ")}: ${
      name === undefined ? "none is given" : `current value is ${name}`
    }`,
    { next: "For example: iota experiment codecs --steps 60 --seeds 1" },
  );
}

/** The control, and the rows whose names contain one of the words between commas. */
function withRows(experiment: Experiment, text: string | undefined): Experiment {
  if (text === undefined) return experiment;
  const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
  const [control, ...others] = experiment.rows;
  const chosen = others.filter(({ name }) => words.some((word) => name.includes(word)));
  const unmet = words.find((word) => !others.some(({ name }) => name.includes(word)));
  if (control !== undefined && unmet === undefined && chosen.length > 0) {
    return { ...experiment, rows: [control, ...chosen] };
  }
  const names = others.map(({ name }) => name).join("; ");
  throw new UsageError(
    `Cannot choose rows as each word of --rows must be part of a name: ${unmet ?? "none is given"}`,
    {
      next: `The names: ${names}`,
    },
  );
}

async function trained(
  { output }: CommandContext,
  { row: { name, links }, config, lab: { folder, device, signal }, onStep }: {
    row: Row;
    config: RunConfig;
    lab: Lab;
    onStep: () => void;
  },
): Promise<LabResult> {
  return await withLabData({ folder, config }, (batches) =>
    runLab({
      ...{ config, batches, device, signal },
      ...(links === undefined ? {} : { links: present(parseLinks(links), "an experiment's lines obey the grammar") }),
      onRecord(record) {
        if (record.type !== "stepClosed") return;
        const { step, loss } = record;
        onStep();
        output.event({ type: "step", name, seed: config.seed, step, loss });
      },
    }));
}

function rowsOf(results: ReadonlyMap<string, readonly LabResult[]>): ExperimentRow[] {
  const control = present(results.values().next().value, "an experiment has a control");
  return [...results].map(([name, ofSeeds]) => {
    const gaps = ofSeeds.map(({ loss }, i) => loss - control[i]!.loss);
    const { bytesForward, bytesBackward } = ofSeeds[0]!;
    return {
      ...{ name, bytesForward, bytesBackward },
      mergeBytesPerParameter: meanOf(ofSeeds.map((result) => result.mergeBytesPerParameter)),
      tokensPerSecond: meanOf(ofSeeds.map((result) => result.tokensPerSecond)),
      loss: meanOf(ofSeeds.map(({ loss }) => loss)),
      gap: meanOf(gaps),
      standardError: standardErrorOf(gaps),
      seeds: ofSeeds.length,
    };
  });
}

function tableOf(rows: readonly ExperimentRow[]): string[] {
  const heading = [
    ...["", "bytes forward", "back", "merge bytes/parameter", "tokens/s, virtual"],
    ...["loss", "gap", "standard error"],
  ];
  const cells = rows.map(({ name, bytesForward, bytesBackward, standardError, ...row }) => [
    ...[name, bytesForward.toFixed(1), bytesBackward.toFixed(1), row.mergeBytesPerParameter.toFixed(4)],
    ...[row.tokensPerSecond.toFixed(0), row.loss.toFixed(3), row.gap.toFixed(3)],
    standardError === null ? "-" : standardError.toFixed(3),
  ]);
  return alignedRows([heading, ...cells]);
}
