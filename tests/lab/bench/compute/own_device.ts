/**
 * Our own device as a contender: kernels in the worker as in training, and whole training steps of a stage.
 *
 * Owns: the stage of a step task, which stays open between runs. Out of scope: which device (cli/device/open_device.ts).
 */

import process from "node:process";
import { initialParameters } from "../../../../core/model/initial.ts";
import { parameterTable, type StageSpec } from "../../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../../core/model/vector_bytes.ts";
import type { StageCompute } from "../../../../gpu/compute.ts";
import type { ComputeWorker } from "../../../../gpu/worker_client.ts";
import { sha256Hex } from "../../../../cli/files/file_entry.ts";
import type { Contender } from "./contest.ts";
import type { BenchTask, Missing, Speed, StepTask } from "./task.ts";

const notBuilt: Missing = { missing: "is not built for speed" };

export class OwnDevice implements Contender {
  readonly name = "ours";
  readonly #worker: ComputeWorker;
  readonly #run: StepRun | null; // of the step task, if there is one

  constructor(worker: ComputeWorker, run: StepRun | null = null) {
    this.#worker = worker;
    this.#run = run;
  }

  async measure(task: BenchTask, budgetMs: number): Promise<Speed | Missing> {
    switch (task.type) {
      case "gemm": {
        const { type: _, ...sizes } = task;
        const speed = await this.#worker.measureGemm({ budgetMs, task: sizes });
        if (speed === null) return notBuilt;
        return { perSecond: speed.flopsPerSecond, perCpuSecond: speed.flopsPerCpuSecond };
      }
      case "attention": {
        const { type: _, ...sizes } = task;
        return await this.#worker.measureAttention({ budgetMs, task: sizes }) ?? notBuilt;
      }
      case "step":
        return await this.#run?.measure(budgetMs) ?? notBuilt;
    }
  }
}

const [beta1, beta2, epsilon, weightDecay] = [0.9, 0.95, 1e-8, 0.1];

/** Steps on the same tokens again and again. */
export class StepRun {
  readonly #stage: StageCompute;
  readonly #task: StepTask;
  readonly #tokens: Uint32Array;

  private constructor(stage: StageCompute, task: StepTask) {
    const { model: { contextLength, vocabSize }, sequences } = task;
    this.#stage = stage;
    this.#task = task;
    this.#tokens = Uint32Array.from({ length: sequences * contextLength }, (_, i) => (i * 7) % vocabSize);
  }

  /** The model as one stage with fixed parameters. */
  static async open(worker: ComputeWorker, { spec, task }: { spec: StageSpec; task: StepTask }): Promise<StepRun> {
    const stage = await worker.openStage(spec);
    await stage.loadParameters(initialParameters(parameterTable(spec), 1));
    return new StepRun(stage, task);
  }

  async step(): Promise<void> {
    const { microbatches, learningRate } = this.#task;
    for (let i = 0; i < microbatches; i++) {
      await this.#stage.turnaround({ type: "tokens", tokens: this.#tokens }, this.#tokens);
    }
    await this.#stage.gradientSquareSum();
    await this.#stage.step({ learningRate, gradientScale: 1 / microbatches, beta1, beta2, epsilon, weightDecay });
  }

  /** Of the parameters, as hex. */
  async hash(): Promise<string> {
    return sha256Hex(bytesOfFloats(await this.#stage.readParameters()));
  }

  /** Whole steps, at least one. Units are tokens. */
  async measure(budgetMs: number): Promise<Speed> {
    const ofStep = this.#tokens.length * this.#task.microbatches;
    const startMs = performance.now();
    const before = process.cpuUsage();
    let tokens = 0;
    let elapsedMs = 0;
    do {
      await this.step();
      tokens += ofStep;
      elapsedMs = performance.now() - startMs;
    } while (elapsedMs < budgetMs);
    const { user, system } = process.cpuUsage(before);
    return { perSecond: 1000 * tokens / elapsedMs, perCpuSecond: 1e6 * tokens / (user + system) };
  }
}
