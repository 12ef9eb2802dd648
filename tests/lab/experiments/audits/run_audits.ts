/** `lab experiment audits`: how many rounds pass until validators meet a cheat, beside what arithmetic says (E12). */

import type { RunConfig } from "../../../../core/config/config.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { alignedRows } from "../../world/aligned_rows.ts";
import { configOf } from "../../world/lab_settings.ts";
import { givenRun } from "../../../../cli/terminal/options/run_options.ts";
import { openProgress } from "../../../../cli/terminal/output/progress.ts";
import { plural } from "../../../../cli/terminal/text/format.ts";
import { endWithRows } from "../told_rows.ts";
import { type AuditCost, auditCost, type AuditRow, auditRows, type Counted } from "./audit_rows.ts";
import { watchAudits, type WatchedRun } from "./watch_audits.ts";

const lengths = [30, 8]; // of rounds, in steps
const common = {
  "train.steps": 1200,
  "train.microbatchesPerStep": 9,
  "pipeline.stages": 3,
  "swarm.replicas": 3,
  "swarm.validators": 2,
};
const gatherMs = 60_000; // until everybody is there

export async function runAudits(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const { input } = await givenRun(context);
  const first = options.number("seed") ?? 1;
  const seeds = Array.from({ length: options.number("seeds") ?? 3 }, (_, i) => first + i);
  const configsOf = (stepsPerRound: number): RunConfig[] =>
    seeds.map((seed) =>
      configOf({
        ...{ common: { ...common, "train.stepsPerRound": stepsPerRound }, input },
        fixed: { seed, "swarm.gatherMs": gatherMs },
      })
    );
  const swarms = distinct(lengths.map(configsOf));
  const { size, pipeline: { stages }, swarm: { replicas, validators } } = swarms[0]![0]!;
  output.line(
    `${plural(stages, "stage")} of ${size}, ${plural(replicas, "miner")} each, ${plural(validators, "validator")}, ${
      plural(seeds.length, "seed")
    }`,
  );
  const watched = swarms.map((): WatchedRun[] => []); // of each length of rounds
  const watchAll = async () => {
    const progress = openProgress(output, "simulating", "runs");
    let done = 0;
    for (const [i, configs] of swarms.entries()) {
      for (const config of configs) {
        const { steps, stepsPerRound } = config.train;
        progress.at(done++, swarms.length * seeds.length, `rounds of ${stepsPerRound} steps, seed ${config.seed}`);
        const rounds = Math.max(1, Math.floor(steps / stepsPerRound));
        watched[i]!.push(await watchAudits({ config, rounds, signal: context.interruption() }));
      }
    }
    progress.close();
  };
  return await endWithRows(context, watchAll, () => {
    const begun = watched.filter((runs) => runs.length > 0);
    const rows = begun.flatMap(auditRows);
    const costs = begun.map(auditCost);
    for (const row of rows) output.event({ type: "row", ...row });
    for (const cost of costs) output.event({ type: "cost", ...cost });
    return { rows, table: [...tableOf(rows), "", ...costTable(costs)], facts: { costs } };
  });
}

/** A length that is given replaces both. */
function distinct(swarms: readonly RunConfig[][]): RunConfig[][] {
  const byLength = new Map(swarms.map((configs) => [configs[0]!.train.stepsPerRound, configs]));
  return [...byLength.values()];
}

const percent = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;

function tableOf(rows: readonly AuditRow[]): string[] {
  const heading = [
    ...["steps", "miner", "cheats in", "tasks", "rounds that meet it", "expected", "99 % band"],
    ...["ten rounds", "expected", "99 % band", "median", "expected"],
  ];
  const cells = rows.map(({ stepsPerRound, place, share, tasks, rounds, tens, median, expectedMedian }) => [
    ...[`${stepsPerRound}`, place, percent(share), tasks.toFixed(2), ...cellsOf(rounds), ...cellsOf(tens)],
    ...[median === null ? "–" : `${median}`, `${expectedMedian}`],
  ]);
  return alignedRows([heading, ...cells]);
}

/** Outside its band a count is marked. */
function cellsOf({ of, met, expected, low, high, isWithin }: Counted): string[] {
  if (of === 0) return ["–", percent(expected), "–"];
  return [
    `${percent(met / of)}${isWithin ? "" : " !"}`,
    percent(expected),
    `${percent(low / of)} to ${percent(high / of)}`,
  ];
}

function costTable(costs: readonly AuditCost[]): string[] {
  const heading = ["steps", "validators' share of FLOPs", "replays", "gradients", "evaluations", "trials"];
  const cells = costs.map(({ stepsPerRound, validatorShare, parts: { replays, gradients, evaluations, trials } }) => [
    ...[`${stepsPerRound}`, percent(validatorShare)],
    ...[replays, gradients, evaluations, trials].map(percent),
  ]);
  return alignedRows([heading, ...cells]);
}
