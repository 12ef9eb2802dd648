/**
 * `lab experiment`: trains every row of an experiment with several seeds and says how far each ends from the control.
 *
 * Out of scope: which rows and runs (chosen_rows.ts, planned_rows.ts), and what its numbers are (experiment_rows.ts).
 */

import { openProgress } from "../../../cli/terminal/output/progress.ts";
import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { givenRun } from "../../../cli/terminal/options/run_options.ts";
import { parseLinks } from "../../../cli/swarm/chaos/link_shape.ts";
import { decimal, plural } from "../../../cli/terminal/text/format.ts";
import { withRows } from "./chosen_rows.ts";
import { type ExperimentPlace, withExperimentPlace } from "./experiment_place.ts";
import { experiments, type Row } from "./experiments.ts";
import { type RowResults, rowsOf, tableOf } from "./experiment_rows.ts";
import { type PlannedRow, planRows, type Repetition } from "./planned_rows.ts";
import { endWithRows } from "./told_rows.ts";
import { withLabData } from "../world/lab_data.ts";
import { type LabResult, runLab } from "../world/run_lab.ts";
import { zeroWires } from "../world/zero_wires.ts";

const longestName = 28;

export async function runExperiment(context: CommandContext): Promise<number> {
  const { options, output, positionals: [name = ""] } = context;
  const experiment = withRows(present(experiments[name], "the command knows the names"), options.text("rows"));
  const { input } = await givenRun(context);
  const first = options.number("seed") ?? 1;
  const seeds = Array.from({ length: options.number("seeds") ?? 3 }, (_, i) => first + i);
  const { rows, repetitions } = planRows(experiment, { input, seeds }); // so that a wrong setting is found at once
  return await withExperimentPlace(context, async (place) => {
    const [{ train: { steps } }] = rows[0]!.configs as [RunConfig];
    output.line(`${name}: ${experiment.doc}; ${plural(steps, "step")}, ${plural(seeds.length, "seed")}`);
    sayRepetitions(context, repetitions);
    const results: RowResults[] = rows.map(({ row }) => ({ row, ofSeeds: [] }));
    return await endWithRows(context, () => trainAll(context, { rows, place, results }), () => {
      const ended = rowsOf(results);
      return { rows: ended, table: tableOf(ended) };
    });
  });
}

function sayRepetitions({ output }: CommandContext, repetitions: readonly Repetition[]): void {
  if (repetitions.length === 0) return;
  const pairs = repetitions.map(({ name, earlier }) => `${name} (${earlier})`).join(", ");
  const text = `Left out as they are the same runs as earlier rows at this size: ${pairs}`;
  if (output.mode === "json") output.log.info(text);
  else output.line(text);
}

/** Every row with the first seed, then with the next one. */
async function trainAll(
  context: CommandContext,
  { rows, place, results }: {
    rows: readonly PlannedRow[];
    place: ExperimentPlace;
    results: readonly RowResults[];
  },
): Promise<void> {
  const { output } = context;
  const steps = rows.flatMap(({ configs }) => configs).reduce((sum, { train }) => sum + train.steps, 0);
  const progress = openProgress(output, "training", "steps");
  let done = 0;
  for (const seed of rows[0]!.configs.keys()) {
    for (const [i, { row, configs }] of rows.entries()) {
      place.signal.throwIfAborted(); // before the text of the next run is prepared
      const { name } = row;
      const config = present(configs[seed], "a row has a run of each seed");
      const onStep = () => progress.at(++done, steps, `${name}, seed ${config.seed}`);
      const result = await trained(context, { row, config, place, onStep });
      present(results[i], "a row has its results").ofSeeds.push(result);
      output.event({ type: "run", name, seed: config.seed, ...result });
      output.line(`${name.padEnd(longestName)} seed ${config.seed}  ${decimal(result.loss)} nats per token`);
    }
  }
  progress.close();
}

async function trained(
  { output }: CommandContext,
  { row: { name, links, slowness = 1, wires }, config, place, onStep }: {
    row: Row;
    config: RunConfig;
    place: ExperimentPlace;
    onStep: () => void;
  },
): Promise<LabResult> {
  const { folder, device, signal } = place;
  return await withLabData({ folder, config }, (batches) =>
    runLab({
      ...{ config, batches, device: wires === "zero" ? zeroWires(device) : device, signal },
      slowness,
      ...(links === undefined ? {} : { links: present(parseLinks(links), "an experiment's lines obey the grammar") }),
      onRecord(record) {
        if (record.type !== "stepClosed") return;
        const { step, loss } = record;
        onStep();
        output.event({ type: "step", name, seed: config.seed, step, loss });
      },
    }));
}
