/**
 * `iota experiment clasp`: trains and measures a model for each seed, then says what each form of CLASP needs to find cheats.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import type { CommandContext } from "../../command.ts";
import { givenRun } from "../../options/run_options.ts";
import { openDevice } from "../../roles/open_device.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { withLabData } from "../../lab/lab_data.ts";
import { configOf } from "../../lab/lab_settings.ts";
import { attackNames, type ClaspRow, damageText, measurementsOf, rowsOf } from "./clasp_rows.ts";
import { type Damage, measureDamage } from "./measure_damage.ts";

const defaultSeeds = 3;
const common = { "train.steps": 100, "train.stepsPerRound": 10 }; // replicas train apart for a round
const plainWires = { "pipeline.codec": "none" }; // attacks are on the residual stream itself

export async function runClasp(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const { input } = await givenRun(context);
  const firstSeed = options.number("seed") ?? 1;
  const configs = Array.from(
    { length: options.number("seeds") ?? defaultSeeds },
    (_, i) => configOf({ common, input, fixed: { ...plainWires, seed: firstSeed + i } }),
  );
  const damages = await measured(context, configs);
  output.line(damageText(damages));
  const rows: ClaspRow[] = [];
  for (const attack of [...attackNames(damages), null]) {
    context.interruption().throwIfAborted();
    const ofAttack = rowsOf(damages, attack);
    for (const row of ofAttack) output.event({ type: "row", ...row });
    rows.push(...ofAttack);
  }
  output.line("");
  for (const line of tableOf(rows)) output.line(line);
  output.answer({ experiment: "clasp", measured: measurementsOf(damages), rows }, "");
  return 0;
}

async function measured(context: CommandContext, configs: readonly RunConfig[]): Promise<Damage[]> {
  const { options, output } = context;
  const signal = context.interruption();
  const folder = await Deno.makeTempDir({ prefix: "iota-experiment-" });
  const device = await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") });
  const damages: Damage[] = [];
  try {
    for (const config of configs) {
      output.line(`Seed ${config.seed}: trains ${config.train.steps} steps of ${config.size}, then measures`);
      const damage = await withLabData(
        { folder, config },
        (batches) => measureDamage({ config, batches, device, signal }),
      );
      output.event({ type: "measured", seed: config.seed, ...damage });
      damages.push(damage);
    }
    return damages;
  } finally {
    await device.finish();
    await Deno.remove(folder, { recursive: true });
  }
}

function tableOf(rows: readonly ClaspRow[]): string[] {
  const heading = [
    "",
    "form",
    "damage",
    "samples for AUC 0.99",
    "of plain",
    "AUC at a swap's samples",
    "honest flagged",
  ];
  const cells = rows.map((row) => [
    ...[row.attack, row.form, row.damage.toFixed(4)],
    row.samplesNeeded === null ? "-" : `${row.samplesNeeded}`,
    row.shareOfPlain === null ? "-" : row.shareOfPlain.toFixed(4),
    row.aucAtPaired === null ? "-" : row.aucAtPaired.toFixed(3),
    row.flaggedHonest.toFixed(4),
  ]);
  return alignedRows([heading, ...cells]);
}
