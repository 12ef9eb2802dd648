/** `iota experiment byzantine`: what lying replicas of a stage do to the loss, with a mean of payloads and with this program's rules. */

import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { plural } from "../../screen/format.ts";
import { meanOf, standardErrorOf } from "../sample_moments.ts";
import { forEachSeed } from "../seeded_runs.ts";
import { endWithRows } from "../told_rows.ts";
import { type CombineRule, combineRules } from "./combine.ts";
import { type PayloadLie, payloadLies, replicas } from "./payload_liars.ts";
import { type Trained, trainReplicas } from "./train_replicas.ts";

const heldOutSequences = 64;

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

interface Results {
  readonly name: string;
  readonly rule: CombineRule;
  readonly liars: number;
  readonly results: Trained[];
}

type Cell = Results & { readonly lie: PayloadLie | null };

export async function runByzantine(context: CommandContext): Promise<number> {
  const { output } = context;
  const cells: Cell[] = [null, ...payloadLies].flatMap((lie) =>
    combineRules.map((rule) => ({ name: lie?.name ?? "honest", lie, rule, liars: lie?.liars ?? 0, results: [] }))
  );
  const common = { "train.steps": 100, "train.stepsPerRound": 10, "pipeline.codec": "none" };
  const trainAll = async () => {
    await forEachSeed(context, { common, fixed: { "pipeline.stages": 3 } }, async (options) => {
      const { seed, size, train: { steps, stepsPerRound } } = options.config;
      output.line(
        `Seed ${seed}: ${plural(replicas, "replica")} of ${size} to train ${
          plural(steps, "step")
        }, merged every ${stepsPerRound}`,
      );
      for (const { name, lie, rule, results } of cells) {
        const trained = await trainReplicas({ ...options, rule, lie, heldOutSequences });
        output.event({ type: "trained", seed, name, rule, ...trained });
        results.push(trained);
      }
    });
  };
  return await endWithRows(context, trainAll, () => {
    const rows = byzantineRows(cells.filter(({ results }) => results.length > 0));
    return { rows, table: tableOf(rows) };
  });
}

export function byzantineRows(cells: readonly Results[]): ByzantineRow[] {
  const control = cells[0]?.results ?? [];
  return cells.map(({ name, rule, liars, results }) => {
    const gaps = results.map(({ loss }, i) => loss - control[i]!.loss);
    const excesses = gaps.map((gap, i) => gap / control[i]!.loss);
    const excess = meanOf(excesses);
    return {
      ...{ name, rule, liars, loss: meanOf(results.map(({ loss }) => loss)), gap: meanOf(gaps), excess },
      standardError: standardErrorOf(excesses),
      honestLeftOut: meanOf(results.map(({ honestLeftOut }) => honestLeftOut)),
      liesLeftOut: liars === 0 ? null : meanOf(results.map(({ liesLeftOut }) => liesLeftOut)),
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
