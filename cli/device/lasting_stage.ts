/**
 * A stage that survives its device: on the next one its state is loaded again, what changed it since is repeated, and
 * the call that met the loss is made once more.
 *
 * Beyond `logBytes` a copy of a small stage takes the log's place; a large one is lost with its device.
 */

import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { vectorBytes } from "../../core/model/vector_bytes.ts";
import type { OptimizerState } from "../../core/train/optimizer.ts";
import type {
  AdapterDescription,
  PassOptions,
  StageCompute,
  StageInput,
  StageOptions,
  StageVector,
  StepOptions,
  Turnaround,
} from "../../gpu/compute.ts";
import { VectorTable } from "../../gpu/vector_table.ts";
import { type ComputeWorker, isDeviceLoss } from "../../gpu/worker_client.ts";
import type { HostedStage } from "./compute_host.ts";
import { type Restore, StageLog } from "./stage_log.ts";

/** Whatever it trained since its last merge is gone. */
export class StageLostError extends Error {
  override name = "StageLostError";
}

export interface DeviceSupply {
  /** Throws when the device is given up. */
  next(lost: ComputeWorker, loss: Error): Promise<ComputeWorker>;
  worked(): void;
  rebuilt(stage: { spec: StageSpec; calls: number }): void;
  readonly kept: KeptLimits;
}

export interface KeptLimits {
  readonly logBytes: number; // of wires and tokens of steps that were taken
  readonly copyBytes: number; // of a stage whose log is longer; a larger stage is not copied
}

export const usualLimits: KeptLimits = { logBytes: 256 * 2 ** 20, copyBytes: 2 ** 30 };

interface Opened {
  readonly worker: ComputeWorker;
  readonly stage: StageCompute;
}

export class LastingStage implements HostedStage {
  readonly spec: StageSpec;
  readonly #supply: DeviceSupply;
  readonly #options: StageOptions;
  readonly #log = new StageLog();
  #opened: Opened;
  #isClosed = false;

  constructor(supply: DeviceSupply, opened: Opened, { spec, options }: { spec: StageSpec; options: StageOptions }) {
    this.#supply = supply;
    this.#opened = opened;
    this.spec = spec;
    this.#options = options;
  }

  get adapter(): AdapterDescription {
    return this.#opened.stage.adapter;
  }

  begin(restore: Restore): void {
    this.#log.begin(restore);
  }

  async loadParameters(parameters: Float32Array): Promise<void> {
    const repeat = (stage: StageCompute) => stage.loadParameters(parameters);
    await this.#call(repeat);
    this.#log.replaced({ repeat, bytes: 0 });
  }

  readParameters(): Promise<Float32Array> {
    return this.#call((stage) => stage.readParameters());
  }

  loadOptimizer(state: OptimizerState): Promise<void> {
    return this.#call((stage) => stage.loadOptimizer(state));
  }

  readOptimizer(): Promise<OptimizerState> {
    return this.#call((stage) => stage.readOptimizer());
  }

  writePart(vector: StageVector, part: { offset: number; values: Float32Array }): Promise<void> {
    return this.#call((stage) => stage.writePart(vector, part));
  }

  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    return this.#call((stage) => stage.readPart(vector, part));
  }

  countSteps(): Promise<number> {
    return this.#call((stage) => stage.countSteps());
  }

  setSteps(steps: number): Promise<void> {
    return this.#call((stage) => stage.setSteps(steps));
  }

  forward(input: StageInput, options?: PassOptions): Promise<Uint8Array> {
    return this.#task((stage) => stage.forward(input, options));
  }

  async backward(input: StageInput, gradient: Uint8Array, options?: PassOptions): Promise<Uint8Array | null> {
    const repeat = (stage: StageCompute) => stage.backward(input, gradient, options);
    const result = await this.#task(repeat);
    this.#log.accumulated({ repeat, bytes: inputBytes(input) + gradient.byteLength });
    return result;
  }

  async turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    const repeat = (stage: StageCompute) => stage.turnaround(input, targets);
    const result = await this.#task(repeat);
    this.#log.accumulated({ repeat, bytes: inputBytes(input) + targets.byteLength });
    return result;
  }

  evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    return this.#task((stage) => stage.evaluate(input, targets));
  }

  logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    return this.#task((stage) => stage.logitsAt(input, position));
  }

  async zeroGradients(): Promise<void> {
    await this.#call((stage) => stage.zeroGradients());
    this.#log.zeroed();
  }

  gradientSquareSum(): Promise<number> {
    return this.#call((stage) => stage.gradientSquareSum());
  }

  readGradients(): Promise<Float32Array> {
    return this.#call((stage) => stage.readGradients());
  }

  async step(options: StepOptions): Promise<void> {
    const repeat = (stage: StageCompute) => stage.step(options);
    await this.#call(repeat);
    this.#log.stepped({ repeat, bytes: 0 });
    if (this.#log.closedBytes > this.#supply.kept.logBytes) await this.#shortenLog();
  }

  close(): void {
    this.#isClosed = true;
    this.#log.begin(null);
    this.#opened.stage.close();
  }

  async #task<T>(work: (stage: StageCompute) => Promise<T>): Promise<T> {
    const result = await this.#call(work);
    this.#supply.worked();
    return result;
  }

  async #call<T>(work: (stage: StageCompute) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work(this.#opened.stage);
      } catch (error) {
        if (this.#isClosed || !isDeviceLoss(error)) throw error;
        await this.#rebuild(error);
      }
    }
  }

  async #rebuild(firstLoss: Error): Promise<void> {
    const calls = this.#log.length;
    let loss = firstLoss;
    let { worker } = this.#opened;
    for (;;) {
      worker = await this.#supply.next(worker, loss);
      try {
        const stage = await worker.openStage(this.spec, this.#options);
        await this.#log.repeat(stage);
        this.#opened = { worker, stage };
        return this.#supply.rebuilt({ spec: this.spec, calls });
      } catch (error) {
        if (!isDeviceLoss(error)) throw this.#lostFor(error);
        loss = error;
      }
    }
  }

  #lostFor(cause: unknown): StageLostError {
    const why = cause instanceof Error ? cause.message : String(cause);
    const what = `Stage ${this.spec.index} cannot continue after its device was lost`;
    return new StageLostError(`${what}: ${why}`, { cause });
  }

  async #shortenLog(): Promise<void> {
    const vectors = new VectorTable(parameterTable(this.spec), this.#options.optimizer);
    const names = ["parameters", ...vectors.state.map(({ name }) => name)];
    const bytes = names.reduce((sum, name) => sum + vectorBytes(vectors.lengthOf(name)), 0);
    if (bytes > this.#supply.kept.copyBytes) return this.#log.begin(null);
    const parameters = await this.readParameters();
    const state = await this.readOptimizer();
    this.#log.begin(async (stage) => {
      await stage.loadParameters(parameters);
      await stage.loadOptimizer(state);
    });
  }
}

function inputBytes(input: StageInput): number {
  return input.type === "tokens" ? input.tokens.byteLength : input.wire.byteLength;
}
