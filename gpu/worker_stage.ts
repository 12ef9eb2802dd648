/**
 * Each method is a message. Whole vectors travel in parts, so that the caller's thread stays free and neither side
 * holds a second copy.
 */

import type { StageSpec } from "../core/model/spec.ts";
import type { OptimizerState } from "../core/train/optimizer.ts";
import type { AdapterDescription, PassOptions, StageCompute } from "./compute.ts";
import type { StageInput, StageVector, StepOptions, Turnaround } from "./compute.ts";
import type { VectorTable } from "./vector_table.ts";
import type { StageArguments, StageMethod, StageResult } from "./worker_protocol.ts";

export interface StageLink {
  callStage<M extends StageMethod>(stage: number, method: M, args: StageArguments<M>): Promise<StageResult<M>>;
  closeStage(stage: number): Promise<void>;
}

const partFloats = 2 ** 20; // 4 MiB: copied in 2 ms, one read-back of the device

export class WorkerStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  readonly #link: StageLink;
  readonly #stage: number;
  readonly #vectors: VectorTable;

  constructor(
    link: StageLink,
    options: { stage: number; spec: StageSpec; adapter: AdapterDescription; vectors: VectorTable },
  ) {
    this.#link = link;
    this.#stage = options.stage;
    this.spec = options.spec;
    this.adapter = options.adapter;
    this.#vectors = options.vectors;
  }

  async loadParameters(parameters: Float32Array): Promise<void> {
    await this.#write("parameters", parameters);
    await this.#call("zeroGradients");
  }

  readParameters(): Promise<Float32Array> {
    return this.#read("parameters");
  }

  async loadOptimizer(state: OptimizerState): Promise<void> {
    for (const [name, values] of this.#vectors.valuesOf(state)) await this.#write(name, values);
    await this.#call("setSteps", state.steps);
  }

  async readOptimizer(): Promise<OptimizerState> {
    const vectors: Record<string, Float32Array> = {};
    for (const { name } of this.#vectors.state) vectors[name] = await this.#read(name);
    return { vectors, steps: await this.countSteps() };
  }

  writePart(vector: StageVector, part: { offset: number; values: Float32Array }): Promise<void> {
    return this.#call("writePart", vector, part);
  }

  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    return this.#call("readPart", vector, part);
  }

  countSteps(): Promise<number> {
    return this.#call("countSteps");
  }

  setSteps(steps: number): Promise<void> {
    return this.#call("setSteps", steps);
  }

  forward(input: StageInput, options?: PassOptions): Promise<Uint8Array> {
    return this.#call("forward", input, options);
  }

  backward(input: StageInput, gradient: Uint8Array, options?: PassOptions): Promise<Uint8Array | null> {
    return this.#call("backward", input, gradient, options);
  }

  turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    return this.#call("turnaround", input, targets);
  }

  evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    return this.#call("evaluate", input, targets);
  }

  logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    return this.#call("logitsAt", input, position);
  }

  zeroGradients(): Promise<void> {
    return this.#call("zeroGradients");
  }

  gradientSquareSum(): Promise<number> {
    return this.#call("gradientSquareSum");
  }

  readGradients(): Promise<Float32Array> {
    return this.#call("readGradients");
  }

  step(options: StepOptions): Promise<void> {
    return this.#call("step", options);
  }

  close(): void {
    this.#link.closeStage(this.#stage).catch(() => {
      // A stopped worker has freed the stage.
    });
  }

  async #write(vector: StageVector, values: Float32Array): Promise<void> {
    this.#vectors.checkWhole(vector, values);
    for (let offset = 0; offset < values.length; offset += partFloats) {
      await this.writePart(vector, { offset, values: values.subarray(offset, offset + partFloats) });
    }
  }

  async #read(vector: StageVector): Promise<Float32Array> {
    const values = new Float32Array(this.#vectors.lengthOf(vector));
    for (let offset = 0; offset < values.length; offset += partFloats) {
      const length = Math.min(partFloats, values.length - offset);
      values.set(await this.readPart(vector, { offset, length }), offset);
    }
    return values;
  }

  #call<M extends StageMethod>(method: M, ...args: StageArguments<M>): Promise<StageResult<M>> {
    return this.#link.callStage(this.#stage, method, args);
  }
}
