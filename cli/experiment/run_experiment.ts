/**
 * `iota experiment`: trains every row of an experiment with several seeds and says how far each ends from the control.
 *
 * Out of scope: what its numbers are (experiment_rows.ts).
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
import { type Experiment, experiments, type Row } from "./experiments.ts";
import { type RowResults, rowsOf, tableOf } from "./experiment_rows.ts";
import { meanOf } from "./sample_moments.ts";
import { withLabData } from "../lab/lab_data.ts";
import { configOf, patience } from "../lab/lab_settings.ts";
import { type LabResult, runLab } from "../lab/lab_swarm.ts";
import { codedBytes, codedWires, type WireCodes } from "../lab/coded_wires.ts";
import { zeroWires } from "../lab/zero_wires.ts";
import type { WireDirection } from "../../core/codec/codec.ts";
import { wiresOfDirection } from "../../core/model/stage_wires.ts";
import type { BatchSource } from "../data/dataset.ts";

const longestName = 28;

interface Lab {
  readonly folder: string; // of datasets
  readonly device: ComputeHost;
  readonly signal: AbortSignal;
}

export async function runExperiment(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const experiment = withRows(
    present(experiments[context.positionals[0] ?? ""], "the command knows the names"),
    options.text("rows"),
  );
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
    const results: RowResults[] = experiment.rows.map((row) => ({ row, ofSeeds: [] }));
    const steps = runs.reduce((sum, { config }) => sum + config.train.steps, 0);
    const progress = openProgress(output, "training", "steps");
    let done = 0;
    for (const { row, config } of runs) {
      const { name } = row;
      const onStep = () => progress.at(++done, steps, `${name}, seed ${config.seed}`);
      const result = await trained(context, { experiment, row, config, lab, onStep });
      present(results.find((other) => other.row === row), "a row has its results").ofSeeds.push(result);
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

/** The control, the rows whose names contain one of the words between commas, and the controls of their families. */
function withRows(experiment: Experiment, text: string | undefined): Experiment {
  if (text === undefined) return experiment;
  const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
  const { rows } = experiment;
  const [control, ...others] = rows;
  const controlOf = ({ family }: Row) => rows.find((row) => row.family === family);
  const chosen = others.filter(({ name }) => words.some((word) => name.includes(word)));
  const unmet = words.find((word) => !others.some(({ name }) => name.includes(word)));
  if (control !== undefined && unmet === undefined && chosen.length > 0) {
    const kept = new Set([control, ...chosen, ...chosen.map(controlOf)]);
    return { ...experiment, rows: rows.filter((row) => kept.has(row)) };
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
  { experiment: { batches }, row: { name, links, slowness = 1, wires }, config, lab, onStep }: {
    experiment: Experiment;
    row: Row;
    config: RunConfig;
    lab: Lab;
    onStep: () => void;
  },
): Promise<LabResult> {
  const { folder, device, signal } = lab;
  const train = (source: BatchSource) =>
    runLab({
      ...{ config, batches: source, device: deviceWith(device, wires), signal },
      slowness,
      ...(links === undefined ? {} : { links: present(parseLinks(links), "an experiment's lines obey the grammar") }),
      onRecord(record) {
        if (record.type !== "stepClosed") return;
        const { step, loss } = record;
        onStep();
        output.event({ type: "step", name, seed: config.seed, step, loss });
      },
    });
  const result = await (batches === undefined ? withLabData({ folder, config }, train) : train(batches(config)));
  return wires === undefined || wires === "zero" ? result : { ...result, ...bytesWith(config, wires) };
}

function deviceWith(device: ComputeHost, wires: Row["wires"]): ComputeHost {
  if (wires === undefined) return device;
  return wires === "zero" ? zeroWires(device) : codedWires(device, wires);
}

/** The bytes of codes that the lab makes, and that cross in the run's own format. */
function bytesWith(config: RunConfig, codes: WireCodes): Pick<LabResult, "bytesForward" | "bytesBackward"> {
  const perToken = (direction: WireDirection) =>
    meanOf(wiresOfDirection(config, direction).map((wire) => codedBytes(wire, codes[direction]) / wire.rows));
  return { bytesForward: perToken("forward"), bytesBackward: perToken("gradient") };
}
