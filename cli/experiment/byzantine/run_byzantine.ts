/** `iota experiment byzantine`: what lying replicas of a stage do to the loss, with a mean of payloads and with this program's rules. */

import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { withLabData } from "../../lab/lab_data.ts";
import { configOf } from "../../lab/lab_settings.ts";
import { givenRun } from "../../options/run_options.ts";
import { openDevice } from "../../roles/open_device.ts";
import { type CombineRule, combineRules } from "./combine.ts";
import { payloadLies, replicas } from "./payload_liars.ts";
import { type Trained, trainReplicas } from "./train_replicas.ts";

const heldOutSequences = 64;
const defaultSeeds = 3;

export interface ByzantineRow {
  readonly name: string; // of the lie; "honest": none
  readonly rule: CombineRule;
  readonly liars: number;
  readonly loss: number; // mean over seeds
  readonly gap: number; // to the mean of as many payloads, all of them honest, with the same seed
  readonly excess: number; // the gap as a share of that loss
  readonly standardError: number | null; // of the excess; null: one seed
  readonly honestLeftOut: number; // share
  readonly liesLeftOut: number | null; // share
  readonly seeds: number;
}

type Cell = { readonly name: string; readonly rule: CombineRule; readonly liars: number; readonly results: Trained[] };

export async function runByzantine(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const { input } = await givenRun(context);
  const firstSeed = options.number("seed") ?? 1;
  const common = { "train.steps": 100, "train.stepsPerRound": 10, "pipeline.codec": "none" };
  const configs = Array.from(
    { length: options.number("seeds") ?? defaultSeeds },
    (_, i) => configOf({ common, input, fixed: { "pipeline.stages": 3, seed: firstSeed + i } }),
  );
  const signal = context.interruption();
  const folder = await Deno.makeTempDir({ prefix: "iota-experiment-" });
  const device = await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") });
  const cells: Cell[] = [null, ...payloadLies].flatMap((lie) =>
    combineRules.map((rule) => ({ name: lie?.name ?? "honest", rule, liars: lie?.liars ?? 0, results: [] }))
  );
  try {
    for (const config of configs) {
      const { steps, stepsPerRound } = config.train;
      output.line(
        `Seed ${config.seed}: ${replicas} replicas of ${config.size} train ${steps} steps, merged every ${stepsPerRound}`,
      );
      await withLabData({ folder, config }, async (batches) => {
        for (const { name, rule, results } of cells) {
          const lie = payloadLies.find((each) => each.name === name) ?? null;
          const trained = await trainReplicas({ config, batches, device, signal, rule, lie, heldOutSequences });
          output.event({ type: "trained", seed: config.seed, name, rule, ...trained });
          results.push(trained);
        }
      });
    }
  } finally {
    await device.finish();
    await Deno.remove(folder, { recursive: true });
  }
  const rows = byzantineRows(cells);
  output.line("");
  for (const line of tableOf(rows)) output.line(line);
  output.answer({ experiment: "byzantine", rows }, "");
  return 0;
}

export function byzantineRows(cells: readonly Cell[]): ByzantineRow[] {
  const control = cells[0]?.results ?? [];
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return cells.map(({ name, rule, liars, results }) => {
    const gaps = results.map(({ loss }, i) => loss - control[i]!.loss);
    const excesses = gaps.map((gap, i) => gap / control[i]!.loss);
    const excess = mean(excesses);
    const variance = excesses.reduce((sum, each) => sum + (each - excess) ** 2, 0) / (excesses.length - 1);
    return {
      ...{ name, rule, liars, loss: mean(results.map(({ loss }) => loss)), gap: mean(gaps), excess },
      standardError: excesses.length > 1 ? Math.sqrt(variance / excesses.length) : null,
      honestLeftOut: mean(results.map(({ honestLeftOut }) => honestLeftOut)),
      liesLeftOut: liars === 0 ? null : mean(results.map(({ liesLeftOut }) => liesLeftOut)),
      seeds: results.length,
    };
  });
}

function tableOf(rows: readonly ByzantineRow[]): string[] {
  const percent = (share: number, digits = 0) => `${(100 * share).toFixed(digits)} %`;
  const heading = ["", "rule", `of ${replicas}`, "loss", "above honest", "±", "honest left out", "lies left out"];
  const cells = rows.map((row) => [
    ...[row.name, row.rule, `${row.liars}`, row.loss.toFixed(3), percent(row.excess, 1)],
    row.standardError === null ? "–" : percent(row.standardError, 1),
    ...[percent(row.honestLeftOut, 1), row.liesLeftOut === null ? "–" : percent(row.liesLeftOut)],
  ]);
  return alignedRows([heading, ...cells]);
}
