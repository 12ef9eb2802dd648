/**
 * `iota bench step`: tokens per CPU second of whole training steps on a device: forward, loss, backward, norm and update of a
 * model held as one stage, as a miner computes them but without a network.
 *
 * The hash is of the parameters after a fixed number of steps from fixed parameters and tokens: on the processor it is the same
 * on every machine. CPU seconds are user and system time of this process, driver threads included.
 */

import process from "node:process";
import type { RunConfig } from "../../core/config/config.ts";
import { resolveConfig } from "../../core/config/parse.ts";
import { sizeNames } from "../../core/config/size.ts";
import { initialParameters } from "../../core/model/initial.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import type { CommandContext } from "../command.ts";
import { sha256Hex } from "../data/sha256.ts";
import { UsageError } from "../output/errors.ts";
import { deviceText, openDevice } from "../roles/open_device.ts";
import { decimal } from "../screen/format.ts";

const oneMillion = "1m"; // 0.92 M parameters, the model of earlier comparisons
const millionShape = {
  ...{ "model.vocabSize": 256, "model.width": 128, "model.layers": 4, "model.heads": 4, "model.kvHeads": 4 },
  ...{ "model.ffnWidth": 384, "model.contextLength": 128, "train.sequencesPerMicrobatch": 8 },
};
const hashedSteps = 2;

export async function runStepBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const config = configOf(options.text("size") ?? oneMillion);
  const signal = context.interruption();
  const worker = await openDevice(options.text("device"), { threads: options.number("threads") });
  output.line(`Computes on ${deviceText(worker)}`);
  try {
    await measureSteps(context, { worker, config, signal });
  } finally {
    await worker.finish(); // never terminated just before the exit: see its contract
  }
  return 0;
}

async function measureSteps(
  { output, options }: CommandContext,
  { worker, config, signal }: { worker: ComputeWorker; config: RunConfig; signal: AbortSignal },
): Promise<void> {
  const [spec] = stageSpecs(config, [config.model.layers]) as [StageSpec];
  const stage = await worker.openStage(spec);
  const run = new StepRun(stage, config);
  await run.begin();
  for (let i = 0; i < hashedSteps; i++) await run.step();
  const hash = sha256Hex(bytesOfFloats(await stage.readParameters()));
  const { tokens, seconds, cpuSeconds } = await run.measure(options.number("seconds") ?? 3, signal);
  const [tokensPerCpuSecond, tokensPerSecond] = [tokens / cpuSeconds, tokens / seconds];
  const parameters = parameterTable(spec).length;
  output.line(
    `${decimal(tokensPerCpuSecond)} tokens per CPU second, ${decimal(tokensPerSecond)} per second; ` +
      `${decimal(parameters)} parameters; after ${hashedSteps} steps ${hash.slice(0, 16)}`,
  );
  const { device, name } = worker.adapter;
  const { threads } = worker;
  output.summary({ device, adapter: name, threads, parameters, tokensPerCpuSecond, tokensPerSecond, peers: {}, hash });
}

function configOf(size: string): RunConfig {
  const known = [oneMillion, ...sizeNames];
  const stages = { "pipeline.stages": 1, "pipeline.codec": "none" };
  const resolved = size === oneMillion
    ? resolveConfig({ size: "tiny", overrides: { ...millionShape, ...stages } })
    : resolveConfig({ size, overrides: stages });
  if (known.includes(size) && resolved.ok) return resolved.config;
  throw new UsageError(
    `Cannot run bench step as its size must be one of ${known.join(", ")}: current value is '${size}'`,
    {
      next: "Leave --size out for 1m",
    },
  );
}

interface Measured {
  readonly tokens: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** The same tokens again and again. */
class StepRun {
  readonly #stage: StageCompute;
  readonly #config: RunConfig;
  readonly #tokens: Uint32Array;

  constructor(stage: StageCompute, config: RunConfig) {
    this.#stage = stage;
    this.#config = config;
    const { model: { contextLength, vocabSize }, train: { sequencesPerMicrobatch } } = config;
    this.#tokens = Uint32Array.from({ length: sequencesPerMicrobatch * contextLength }, (_, i) => (i * 7) % vocabSize);
  }

  async begin(): Promise<void> {
    await this.#stage.loadParameters(initialParameters(parameterTable(this.#stage.spec), 1));
  }

  async step(): Promise<void> {
    const { microbatchesPerStep, learningRate, beta1, beta2, epsilon, weightDecay } = this.#config.train;
    for (let i = 0; i < microbatchesPerStep; i++) {
      await this.#stage.turnaround({ type: "tokens", tokens: this.#tokens }, this.#tokens);
    }
    await this.#stage.gradientSquareSum();
    const gradientScale = 1 / microbatchesPerStep;
    await this.#stage.step({ learningRate, gradientScale, beta1, beta2, epsilon, weightDecay });
  }

  async measure(seconds: number, signal: AbortSignal): Promise<Measured> {
    const ofStep = this.#tokens.length * this.#config.train.microbatchesPerStep;
    const startMs = performance.now();
    const before = process.cpuUsage();
    let tokens = 0;
    let elapsed = 0;
    do {
      signal.throwIfAborted();
      await this.step();
      tokens += ofStep;
      elapsed = (performance.now() - startMs) / 1000;
    } while (elapsed < seconds);
    const { user, system } = process.cpuUsage(before);
    return { tokens, seconds: elapsed, cpuSeconds: (user + system) / 1e6 };
  }
}
