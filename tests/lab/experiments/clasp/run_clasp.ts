/**
 * `lab experiment clasp`: trains and measures a model for each seed, then says what each form of CLASP needs to find
 * cheats.
 */

import { nextTurn } from "../../../../net/turns.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { alignedRows } from "../../world/aligned_rows.ts";
import { UsageError } from "../../../../cli/program/errors.ts";
import { plural } from "../../../../cli/terminal/text/format.ts";
import { forEachSeed } from "../seeded_runs.ts";
import { endWithRows } from "../told_rows.ts";
import type { PathOptions } from "../trained_path.ts";
import { attackNames, type ClaspRow, damageText, measurementsOf, rowsOf } from "./clasp_rows.ts";
import { type Damage, measureDamage } from "./measure_damage.ts";

const common = { "train.steps": 100, "train.stepsPerRound": 10 }; // replicas train apart for a round
const plainWires = { "pipeline.codec": "none", "pipeline.boundaries": "" }; // attacks are on the residual stream itself
const leastStages = 3; // whoever cheats has a wire on both sides

export async function runClasp(context: CommandContext): Promise<number> {
  const damages: Damage[] = [];
  const rows: ClaspRow[] = [];
  const measureAll = async () => {
    await forEachSeed(context, { common, fixed: plainWires }, async (options) => {
      damages.push(await damageOf(context, options));
    });
    context.output.line(damageText(damages));
    for (const attack of [...attackNames(damages), null]) {
      await nextTurn(); // Ctrl-C does not get through while swarms are drawn
      context.interruption().throwIfAborted();
      const ofAttack = rowsOf(damages, attack);
      for (const row of ofAttack) context.output.event({ type: "row", ...row });
      rows.push(...ofAttack);
    }
  };
  return await endWithRows(context, measureAll, () => ({
    ...{ rows, table: tableOf(rows) },
    facts: damages.length === 0 ? {} : { measured: measurementsOf(damages) },
  }));
}

async function damageOf({ output }: CommandContext, options: PathOptions): Promise<Damage> {
  const { seed, size, train: { steps }, pipeline: { stages } } = options.config;
  if (stages < leastStages) {
    throw new UsageError(
      `Cannot measure cheats with ${stages} stages: a cheat needs a wire on both sides, so the fewest are ${leastStages}`,
      { next: `Give it --stages ${leastStages}` },
    );
  }
  output.line(`Seed ${seed}: trains ${plural(steps, "step")} of ${size}, then measures`);
  const damage = await measureDamage(options);
  output.event({ type: "measured", seed, ...damage });
  return damage;
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
