/**
 * `StageCompute` on WebGPU. Owns the stage's flat vectors (parameters, gradients, optimizer state) and its dispatch lists; a call
 * is uploads, one encoder, one submit and at most one read-back, and allocates nothing on the GPU.
 *
 * Refuses, as our bug: calls that this stage does not have (a tail has no `forward`), inputs of the wrong kind or length, and
 * any call after `close`. A GPU failure rejects the call that finds it and every later one.
 */

import { assert, present } from "../core/assert.ts";
import { parameterTable, type StageSpec } from "../core/model/spec.ts";
import type { OptimizerState } from "../core/train/optimizer.ts";
import type { OptimizerName } from "../core/train/optimizers.ts";
import { type BufferRange, StageBuffers } from "./buffers.ts";
import type { AdapterDescription, PassOptions, StageCompute, StageVector } from "./compute.ts";
import type { StageInput, StageOptions, StepOptions, Turnaround } from "./compute.ts";
import type { GpuDevice } from "./device.ts";
import { type Dispatch, encodeProgram, Kernels } from "./kernel.ts";
import { hardwareKernels, type KernelSettings, Ops, softwareKernels } from "./ops.ts";
import { buildGradientNorm, type GradientNorm } from "./optimizers/gradient_norm.ts";
import { type DeviceVectors, partOf, storeVectors, type Update } from "./optimizers/update.ts";
import { updates } from "./optimizers/updates.ts";
import { KeptPasses } from "./kept_passes.ts";
import { buildStageProgram, type StageProgram, type WirePort } from "./stage_program.ts";
import { StageUploads } from "./stage_uploads.ts";
import { VectorTable } from "./vector_table.ts";

export interface WebGpuStageOptions extends StageOptions {
  /** Shared by the stages of one device, so that each shader is compiled once. @default a new one */
  readonly kernels?: Kernels;
  /** @default by adapter: softwareKernels or hardwareKernels */
  readonly settings?: KernelSettings;
}

const mostPasses = 64; // each has bind groups of its own

/** A stage with all parameters zero, its shaders compiled. Load parameters before use. */
export async function createWebGpuStage(
  gpu: GpuDevice,
  spec: StageSpec,
  options: WebGpuStageOptions = {},
): Promise<StageCompute> {
  const kernels = options.kernels ?? new Kernels(gpu);
  const settings = options.settings ?? (gpu.adapter.isSoftware ? softwareKernels : hardwareKernels);
  const buffers = new StageBuffers(gpu);
  try {
    const { activationBytes = 0, openForwards = mostPasses, optimizer } = options;
    const passes = { bytes: activationBytes, most: Math.min(mostPasses, openForwards) };
    const stage = new WebGpuStage({ gpu, spec, buffers, ops: new Ops(kernels, settings), passes, optimizer });
    await stage.warmUp();
    return stage;
  } catch (error) {
    buffers.destroy();
    throw error;
  }
}

const readChunkBytes = 4 << 20; // least staging, so that reading parameters does not take one 11 ms wait per small task size

interface StageParts {
  readonly gpu: GpuDevice;
  readonly spec: StageSpec;
  readonly buffers: StageBuffers;
  readonly ops: Ops;
  readonly passes: { readonly bytes: number; readonly most: number };
  readonly optimizer: OptimizerName | undefined;
}

class WebGpuStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  readonly #gpu: GpuDevice;
  readonly #kernels: Kernels;
  readonly #buffers: StageBuffers;
  readonly #vectors: VectorTable;
  readonly #device: DeviceVectors;
  readonly #program: StageProgram; // the spare one
  readonly #passes: KeptPasses<StageProgram>;
  readonly #update: Update;
  readonly #norm: GradientNorm;
  readonly #uploads: StageUploads;
  #steps = 0;
  #isClosed = false;

  constructor(options: StageParts) {
    const { gpu, spec, buffers, ops } = options;
    this.spec = spec;
    this.adapter = gpu.adapter;
    this.#gpu = gpu;
    this.#kernels = ops.kernels;
    this.#buffers = buffers;
    const table = parameterTable(spec);
    const { state, optimizer } = this.#vectors = new VectorTable(table, options.optimizer);
    const vectors = this.#device = storeVectors(buffers, { table, state });
    const { parameters, gradients } = vectors;
    const before = buffers.storageBytes;
    const build = () => buildStageProgram({ ops, buffers, spec, parameters, gradients });
    this.#program = build();
    const passBytes = buffers.storageBytes - before;
    const { bytes, most } = options.passes;
    const count = spec.wireOut === null ? 0 : Math.min(most, Math.floor(bytes / passBytes));
    this.#passes = new KeptPasses(this.#program, Array.from({ length: count }, build));
    this.#uploads = new StageUploads({ spec, buffers });
    const bindingBytes = gpu.device.limits.maxStorageBufferBindingSize;
    const parts = { ops, buffers, table, vectors, bindingBytes };
    this.#update = updates[optimizer](parts);
    this.#norm = buildGradientNorm(parts);
    buffers.reserveStaging(Math.max(this.#largestReadBytes(), readChunkBytes));
  }

  /** Compiles what is new on this device. The trial runs leave rubbish behind, so all state is cleared. */
  async warmUp(): Promise<void> {
    await this.#kernels.warmUp();
    const { parameters, gradients, state } = this.#device;
    this.#clear([parameters, gradients, ...state.values().map(({ range }) => range)]);
    await this.#buffers.settle();
  }

  async loadParameters(parameters: Float32Array): Promise<void> {
    this.#check();
    this.#vectors.checkWhole("parameters", parameters);
    this.#buffers.upload(this.#device.parameters, parameters);
    this.#passes.forget();
    this.#clear([this.#device.gradients]);
    await this.#buffers.finish();
  }

  readParameters(): Promise<Float32Array> {
    return this.#readWhole("parameters");
  }

  async loadOptimizer(state: OptimizerState): Promise<void> {
    this.#check();
    for (const [name, values] of this.#vectors.valuesOf(state)) this.#buffers.upload(this.#rangeOf(name), values);
    await this.#buffers.finish();
    this.#steps = state.steps;
  }

  async readOptimizer(): Promise<OptimizerState> {
    const vectors: Record<string, Float32Array> = {};
    for (const { name } of this.#vectors.state) vectors[name] = await this.#readWhole(name);
    return { vectors, steps: this.#steps };
  }

  async writePart(vector: StageVector, { offset, values }: { offset: number; values: Float32Array }): Promise<void> {
    this.#check();
    this.#buffers.upload(this.#partOf(vector, { offset, length: values.length }), values);
    this.#gpu.device.queue.submit([]); // what an upload stages is freed by the next submit
    if (vector === "parameters") this.#passes.forget();
    await this.#buffers.finish();
  }

  async readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    this.#check();
    return await this.#buffers.readFloats(this.#partOf(vector, part), part.length);
  }

  countSteps(): Promise<number> {
    this.#check();
    return Promise.resolve(this.#steps);
  }

  setSteps(steps: number): Promise<void> {
    this.#check();
    this.#steps = steps;
    return Promise.resolve();
  }

  async forward(input: StageInput, { name }: PassOptions = {}): Promise<Uint8Array> {
    this.#checkWireOut();
    const pass = this.#passes.keep(name);
    const { value } = pass.wireOut!;
    this.#uploads.input(input, pass);
    const [content] = await this.#runAndRead([pass.trunk, value.encode], [value.staged]);
    return value.fromStaged(content!);
  }

  async backward(input: StageInput, gradient: Uint8Array, { name }: PassOptions = {}): Promise<Uint8Array | null> {
    this.#checkWireOut();
    const kept = this.#passes.take(name);
    const pass = kept ?? this.#passes.spare;
    if (kept === null) this.#uploads.input(input, pass);
    this.#uploads.index(input, pass);
    this.#uploads.gradient(pass.wireOut!.gradient, gradient);
    const programs = kept === null ? [pass.trunk, pass.trunkBackward] : [pass.trunkBackward];
    return await this.#backwardResult(programs, pass.wireIn);
  }

  async turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    const head = this.#head();
    this.#uploads.input(input, this.#program);
    this.#uploads.index(input, this.#program);
    this.#uploads.targets(head.targets, targets);
    const { trunk, trunkBackward, wireIn } = this.#program;
    const ranges = wireIn === null ? [head.losses] : [head.losses, wireIn.gradient.staged];
    const [losses, gradient] = await this.#runAndRead([trunk, head.forward, head.backward, trunkBackward], ranges);
    return {
      lossPerSequence: this.#meanPerSequence(new Float32Array(losses!)),
      gradient: wireIn === null ? null : wireIn.gradient.fromStaged(gradient!),
    };
  }

  async evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    const head = this.#head();
    this.#uploads.input(input, this.#program);
    this.#uploads.targets(head.targets, targets);
    const [losses] = await this.#runAndRead([this.#program.trunk, head.evaluate], [head.losses]);
    return this.#meanPerSequence(new Float32Array(losses!));
  }

  async logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    const { sampling } = this.#head();
    const { contextLength, width } = this.spec.model;
    assert(
      Number.isInteger(position) && position >= 0 && position < contextLength,
      `Cannot sample as 'position' must be 0 to ${contextLength - 1}: current value is ${position}`,
    );
    this.#uploads.input(input, this.#program);
    const encoder = this.#gpu.device.createCommandEncoder();
    encodeProgram(encoder, [...this.#program.trunk, ...sampling.norm]);
    const rowBytes = width * 4;
    for (let sequence = 0; sequence < this.spec.sequences; sequence++) {
      const from = (sequence * contextLength + position) * rowBytes;
      encoder.copyBufferToBuffer(sampling.normed.buffer, from, sampling.picked.buffer, sequence * rowBytes, rowBytes);
    }
    encodeProgram(encoder, sampling.project);
    const [logits] = await this.#buffers.submitAndRead(encoder, [sampling.logits]);
    return new Float32Array(logits!);
  }

  async zeroGradients(): Promise<void> {
    this.#check();
    this.#clear([this.#device.gradients]);
    await this.#buffers.finish();
  }

  async gradientSquareSum(): Promise<number> {
    const [partial] = await this.#runAndRead([this.#norm.dispatches], [this.#norm.partialSums]);
    return new Float32Array(partial!).reduce((sum, value) => sum + value, 0);
  }

  readGradients(): Promise<Float32Array> {
    return this.#readVector(this.#device.gradients, this.#vectors.lengthOf("parameters"));
  }

  async step(options: StepOptions): Promise<void> {
    this.#check();
    this.#steps++;
    for (const { range, values } of this.#update.uploads(options, this.#steps)) this.#buffers.upload(range, values);
    this.#kernels.run(this.#update.dispatches);
    this.#passes.forget();
    await this.#buffers.finish();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#buffers.destroy();
  }

  #check(): void {
    assert(!this.#isClosed, `Cannot compute as stage ${this.spec.index} is closed`);
    this.#gpu.throwIfFailed();
  }

  #partOf(vector: StageVector, part: { offset: number; length: number }): BufferRange {
    this.#vectors.checkPart(vector, part);
    return partOf(this.#rangeOf(vector), { offset: part.offset, size: part.length });
  }

  #rangeOf(vector: StageVector): BufferRange {
    if (vector === "parameters") return this.#device.parameters;
    return present(this.#device.state.get(vector), `Cannot use '${vector}' as the stage has no vector of this name`)
      .range;
  }

  #checkWireOut(): void {
    this.#check();
    assert(this.#program.wireOut !== null, "The tail has no forward and no backward: use turnaround");
  }

  #head() {
    this.#check();
    const { head } = this.#program;
    assert(head !== null, `Stage ${this.spec.index} has no loss and no logits: only the tail does`);
    return head;
  }

  async #backwardResult(
    programs: readonly (readonly Dispatch[])[],
    wireIn: WirePort | null,
  ): Promise<Uint8Array | null> {
    if (wireIn === null) {
      this.#check();
      this.#kernels.run(programs.flat());
      await this.#buffers.finish();
      return null;
    }
    const [gradient] = await this.#runAndRead(programs, [wireIn.gradient.staged]);
    return wireIn.gradient.fromStaged(gradient!);
  }

  /** All programs in one pass and one submit, then one read-back. */
  async #runAndRead(
    programs: readonly (readonly Dispatch[])[],
    ranges: readonly BufferRange[],
  ): Promise<ArrayBuffer[]> {
    this.#check();
    const encoder = this.#gpu.device.createCommandEncoder();
    encodeProgram(encoder, programs.flat());
    return await this.#buffers.submitAndRead(encoder, ranges);
  }

  #readWhole(vector: StageVector): Promise<Float32Array> {
    return this.#readVector(this.#rangeOf(vector), this.#vectors.lengthOf(vector));
  }

  async #readVector(range: BufferRange, length: number): Promise<Float32Array> {
    this.#check();
    return await this.#buffers.readFloats(range, length);
  }

  #clear(ranges: readonly BufferRange[]): void {
    const encoder = this.#gpu.device.createCommandEncoder();
    for (const range of ranges) encoder.clearBuffer(range.buffer, range.offset, range.size);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  #largestReadBytes(): number {
    const { wireIn, wireOut, head } = this.#program;
    const wires = [wireIn?.gradient.staged, wireOut?.value.staged];
    const sizes = [...wires, head?.sampling.logits].map((range) => range?.size ?? 0);
    return Math.max(...sizes) + (head?.losses.size ?? 0) + this.#norm.partialSums.size;
  }

  #meanPerSequence(losses: Float32Array): Float32Array {
    const { contextLength } = this.spec.model;
    return Float32Array.from({ length: this.spec.sequences }, (_, sequence) => {
      const own = losses.subarray(sequence * contextLength, (sequence + 1) * contextLength);
      return own.reduce((sum, loss) => sum + loss, 0) / contextLength;
    });
  }
}
