/**
 * `lab bench step`: tokens per CPU second of whole training steps on a device: forward, loss, backward, norm and update of a
 * model held as one stage, as a miner computes them but without a network, beside other libraries.
 *
 * The hash is of the parameters after a fixed number of steps from fixed parameters and tokens: on the processor it is the same
 * on every machine. CPU seconds are user and system time of a whole process, driver threads included.
 */

import type { RunConfig } from "../../../../core/config/config.ts";
import { resolveConfig } from "../../../../core/settings/parse.ts";
import { sizeNames } from "../../../../core/config/size.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../../core/model/spec.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { UsageError } from "../../../../cli/program/errors.ts";
import { decimal } from "../../../../cli/terminal/text/format.ts";
import { bothClocks, byName, inArena } from "./compute_bench.ts";
import { OwnDevice, StepRun } from "./own_device.ts";
import type { StepTask } from "./task.ts";

const oneMillion = "1m"; // 0.92 M parameters, the model of earlier comparisons
const millionShape = {
  ...{ "model.vocabSize": 256, "model.width": 128, "model.layers": 4, "model.heads": 4, "model.kvHeads": 4 },
  ...{ "model.ffnWidth": 384, "model.contextLength": 128, "train.sequencesPerMicrobatch": 8 },
};
const hashedSteps = 2;

export async function runStepBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const size = options.text("size") ?? oneMillion;
  const config = configOf(size);
  const { model, train: { sequencesPerMicrobatch, microbatchesPerStep, learningRate } } = config;
  const task: StepTask = {
    ...{ model, learningRate, sequences: sequencesPerMicrobatch, microbatches: microbatchesPerStep },
  };
  const budgetMs = 1000 * (options.number("seconds") ?? 3);
  await inArena(context, async ({ worker, measure, facts }) => {
    const [spec] = stageSpecs(config, [model.layers]) as [StageSpec];
    const openedMs = performance.now();
    const run = await StepRun.open(worker, { spec, task });
    const openMs = performance.now() - openedMs;
    for (let i = 0; i < hashedSteps; i++) await run.step();
    const hash = await run.hash();
    const tasks = [{ label: size, task: { type: "step", ...task } as const }];
    const unit = { title: "Tokens", scale: 1, limitOf: () => null, budgetMs };
    const [figure] = await measure(tasks, { ...unit, ours: (of) => new OwnDevice(of, run) });
    const { ours, peers, missing } = figure!;
    const parameters = parameterTable(spec).length;
    output.line(`${decimal(parameters)} parameters; after ${hashedSteps} steps ${hash.slice(0, 16)}`);
    output.summary({
      ...facts,
      ...{ parameters, openMs },
      ...bothClocks("tokens", { speed: ours, scale: 1 }),
      peers: byName(peers, { clock: "perCpuSecond", scale: 1 }),
      peersPerSecond: byName(peers, { clock: "perSecond", scale: 1 }),
      ...{ missing, hash },
    });
  });
  return 0;
}

function configOf(size: string): RunConfig {
  const known = [oneMillion, ...sizeNames];
  const compared = { "pipeline.stages": 1, "pipeline.codec": "none", "train.optimizer": "adamw" }; // as the peers
  const resolved = size === oneMillion
    ? resolveConfig({ size: "tiny", overrides: { ...millionShape, ...compared } })
    : resolveConfig({ size, overrides: compared });
  if (known.includes(size) && resolved.ok) return resolved.config;
  throw new UsageError(
    `There is no size '${size}' for bench step, only ${known.join(", ")}`,
    {
      next: "Leave --size out for 1m",
    },
  );
}
