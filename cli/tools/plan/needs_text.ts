/** What a run needs, for people: miners, GPU memory, internet speed, and days. */

import type { RunConfig } from "../../../core/config/config.ts";
import { longestRound } from "../../../core/config/round_length.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { StagePlan } from "../../../gpu/stage_plan.ts";
import type { Memory } from "../../device/model_fit.ts";
import { byteSize, decimal, plural, roughly } from "../../terminal/text/format.ts";
import type { Links, RoundBytes } from "./round_bytes.ts";

export interface PlannedStage {
  readonly spec: StageSpec;
  readonly plan: StagePlan;
  readonly round: RoundBytes;
  readonly links: Links;
}

const usualTflops = 10; // what a gaming GPU of recent years reaches on the run's matrices, of two to four times as many on paper
const usualLinks = [20, 100, 1_000]; // Mbit/s up: cable or DSL, fibre at home, a data centre

/** At most 80 columns. */
export function needsText(
  config: RunConfig,
  { stages, memory }: { stages: readonly PlannedStage[]; memory: Memory },
): string[] {
  const { swarm: { replicas }, pipeline } = config;
  const miners = replicas * pipeline.stages;
  const largest = Math.max(...stages.map(({ plan }) => plan.bytes));
  const mbit = usualTflops * Math.max(...stages.map(({ links }) => Math.max(links.training, links.merging)));
  const allowed = memory.memoryBytes === Infinity
    ? ""
    : largest <= memory.memoryBytes
    ? `, of ${byteSize(memory.memoryBytes)}`
    : `, where ${byteSize(memory.memoryBytes)} are allowed`;
  return [
    `Miners          ${decimal(miners)}: ${plural(replicas, "miner")} for each of ${plural(pipeline.stages, "stage")}`,
    `GPU memory      ${byteSize(largest)} a miner${allowed}`,
    `Internet speed  ${
      mbit <= usualLinks.at(-1)!
        ? `${decimal(mbit)} Mbit/s a miner keep a GPU of ${usualTflops} TFLOP/s busy`
        : "any: a model this small waits for links, not for GPUs"
    }`,
    ...usualLinks.map((link, i) =>
      `${i === 0 ? "Time" : ""}`.padEnd(16) +
      `${roughly(1_000 * secondsOf(config, { stages, link }))} or more at ${decimal(link)} Mbit/s`
    ),
  ];
}

/** With miners that compute `usualTflops`: wires move while stages compute; merges come after. Latency is left out. */
export function secondsOf(
  { train }: Pick<RunConfig, "train">,
  { stages, link }: { stages: readonly PlannedStage[]; link: number },
): number {
  const over = (bytes: number) => 8 * bytes / (link * 1e6);
  const slowest = (of: (round: RoundBytes) => number) => Math.max(...stages.map(({ round }) => of(round)));
  const training = slowest(({ flops, wires, shown }) =>
    Math.max(flops / (usualTflops * 1e12), over(Math.max(wires.received, wires.sent + shown)))
  );
  const merging = slowest(({ merge }) => over(merge.received + merge.sent));
  return train.steps / longestRound(train) * (training + merging);
}
