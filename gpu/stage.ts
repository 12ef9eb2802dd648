/**
 * `StageCompute` on a device. A call is uploads, one task and at most one read-back, and allocates nothing on the
 * device.
 *
 * Calls that this stage does not have, wrong inputs and calls after `close` are our bug. A device's failure rejects the
 * call that finds it and every later one.
 */

import { assert, present } from "../core/assert.ts";
import { withIds } from "../core/codec/wire.ts";
import { parameterTable, type StageSpec } from "../core/model/spec.ts";
import type { OptimizerState } from "../core/train/optimizer.ts";
import type { OptimizerName } from "../core/config/optimizer_names.ts";
import type { AdapterDescription, PassOptions, StageCompute, StageVector } from "./compute.ts";
import type { CacheOptions, StageInput, StageOptions, StepOptions, Turnaround } from "./compute.ts";
import { type DeviceVector, type DeviceVectors, storeVectors } from "./device_vector.ts";
import type { GradientNorm, Update } from "./stage_vectors.ts";
import { KeptPasses } from "./kept_passes.ts";
import type { StageDevice } from "./stage_device.ts";
import { type BufferRange, type Dispatch, partOf } from "./stage_ops.ts";
import { type Calls, callsOf, largestReadBytes, meanPerSequence } from "./stage_calls.ts";
import { buildStageProgram, type StageProgram, type WirePort } from "./stage_program.ts";
import { noSteps, VectorTable } from "./vector_table.ts";

const mostPasses = 64; // each has its own programs
const noGradients = "A stage with a cache has no gradients";

/** All parameters are zero. Closing it destroys the device. */
export async function createDeviceStage(
  device: StageDevice,
  spec: StageSpec,
  options: StageOptions = {},
): Promise<StageCompute> {
  try {
    const { activationBytes = 0, openForwards = mostPasses, optimizer, recomputes = false, cache = null } = options;
    const passes = { bytes: activationBytes, most: Math.min(mostPasses, openForwards) };
    const stage = new DeviceStage({
      device,
      spec,
      passes,
      optimizer: cache === null ? optimizer : null,
      recomputes,
      cache,
    });
    await stage.warmUp();
    return stage;
  } catch (error) {
    device.destroy();
    throw error;
  }
}

interface StageParts {
  readonly device: StageDevice;
  readonly spec: StageSpec;
  readonly passes: { readonly bytes: number; readonly most: number };
  readonly optimizer: OptimizerName | null | undefined;
  readonly recomputes: boolean;
  readonly cache: CacheOptions | null;
}

class DeviceStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  readonly #device: StageDevice;
  readonly #vectors: VectorTable;
  readonly #stored: DeviceVectors;
  readonly #calls: Calls;
  readonly #oneRow: Calls | null; // of stages with a cache
  readonly #passes: KeptPasses<StageProgram>;
  readonly #update: Update | null; // null: no steps
  readonly #norm: GradientNorm | null; // null: no gradients
  #steps = 0;
  #isClosed = false;

  constructor({ device, spec, passes, optimizer, recomputes, cache }: StageParts) {
    assert(
      cache === null || spec.model.contextLength === 1,
      "A stage with a cache takes one token of a text at a time",
    );
    this.spec = spec;
    this.adapter = device.adapter;
    this.#device = device;
    const { ops, buffers } = device;
    const table = parameterTable(spec);
    this.#vectors = new VectorTable(table, optimizer);
    this.#stored = storeVectors(buffers, { table, state: this.#vectors.state, trains: cache === null });
    const vectors = this.#stored;
    const before = buffers.storageBytes;
    const build = (own: StageSpec, name = {}) =>
      buildStageProgram({ ops, buffers, spec: own, vectors, recomputes, cache, ...name });
    this.#calls = callsOf(spec, { program: build(spec), buffers });
    const passBytes = buffers.storageBytes - before;
    const count = spec.wireOut === null ? 0 : Math.min(passes.most, Math.floor(passes.bytes / passBytes));
    this.#passes = new KeptPasses(this.#calls.program, Array.from({ length: count }, () => build(spec)));
    const oneRow = { ...spec, sequences: 1 };
    this.#oneRow = cache === null || spec.sequences === 1
      ? null
      : callsOf(oneRow, { program: build(oneRow, { name: "one row" }), buffers });
    const parts = { table, vectors: this.#stored };
    const own = this.#vectors.optimizer;
    this.#update = own === null ? null : device.buildUpdate(own, parts);
    this.#norm = cache === null ? device.buildGradientNorm(parts) : null;
    device.reserveReads(largestReadBytes(this.#calls) + (this.#norm?.partialSums.size ?? 0));
  }

  /** Compiles what is new. The trial runs leave garbage, so all state is cleared. */
  async warmUp(): Promise<void> {
    await this.#device.warmUp();
    const { parameters, gradients, state } = this.#stored;
    const all = [parameters, gradients, ...state.values().map(({ vector }) => vector)];
    this.#device.clear(all.flatMap(({ ranges }) => ranges));
    await this.#device.settle();
  }

  async loadParameters(parameters: Float32Array): Promise<void> {
    this.#check();
    this.#vectors.checkWhole("parameters", parameters);
    this.#upload(this.#stored.parameters, { offset: 0, values: parameters });
    this.#passes.forget();
    this.#device.clear(this.#stored.gradients.ranges);
    await this.#device.finish();
  }

  readParameters(): Promise<Float32Array> {
    return this.#readWhole("parameters");
  }

  async loadOptimizer(state: OptimizerState): Promise<void> {
    this.#check();
    for (const [name, values] of this.#vectors.valuesOf(state)) {
      this.#upload(this.#vectorOf(name), { offset: 0, values });
    }
    await this.#device.finish();
    this.#steps = state.steps;
  }

  async readOptimizer(): Promise<OptimizerState> {
    const vectors: Record<string, Float32Array> = {};
    for (const { name } of this.#vectors.state) vectors[name] = await this.#readWhole(name);
    return { vectors, steps: this.#steps };
  }

  async writePart(vector: StageVector, { offset, values }: { offset: number; values: Float32Array }): Promise<void> {
    this.#check();
    this.#vectors.checkPart(vector, { offset, length: values.length });
    this.#upload(this.#vectorOf(vector), { offset, values });
    if (vector === "parameters") this.#passes.forget();
    await this.#device.finish();
  }

  async readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    this.#check();
    this.#vectors.checkPart(vector, part);
    return await this.#readVector(this.#vectorOf(vector), { offset: part.offset, size: part.length });
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
    const { program, uploads, output } = this.#callsOf(input);
    const pass = program === this.#calls.program ? this.#passes.keep(name) : program;
    const { value } = pass.wireOut!;
    uploads.input(input, pass);
    const [content] = await this.#runAndRead([pass.trunk, value.encode], [value.staged]);
    return withIds(present(output, "checked above"), value.fromStaged(content!), uploads.ids(input));
  }

  async backward(input: StageInput, gradient: Uint8Array, { name }: PassOptions = {}): Promise<Uint8Array | null> {
    this.#checkWireOut();
    assert(this.#norm !== null, noGradients);
    const { uploads } = this.#calls;
    const kept = this.#passes.take(name);
    const pass = kept ?? this.#passes.spare;
    if (kept === null) uploads.input(input, pass);
    uploads.ofBackward(input, pass);
    uploads.gradient(pass.wireOut!.gradient, gradient);
    const programs = kept === null ? [pass.trunk, pass.trunkBackward] : [pass.trunkBackward];
    return await this.#backwardResult(programs, pass.wireIn);
  }

  async turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    assert(this.#norm !== null, noGradients);
    const { program, uploads } = this.#calls;
    const head = this.#head(this.#calls);
    uploads.input(input, program);
    uploads.ofBackward(input, program);
    uploads.targets(head.targets, targets);
    const { trunk, trunkBackward, wireIn } = program;
    const ranges = wireIn === null ? [head.losses] : [head.losses, wireIn.gradient.staged];
    const [losses, gradient] = await this.#runAndRead([trunk, head.turnaround, trunkBackward], ranges);
    return {
      lossPerSequence: meanPerSequence(new Float32Array(losses!), this.spec),
      gradient: wireIn === null ? null : wireIn.gradient.fromStaged(gradient!),
    };
  }

  async evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    const { program, uploads } = this.#calls;
    const head = this.#head(this.#calls);
    uploads.input(input, program);
    uploads.targets(head.targets, targets);
    const [losses] = await this.#runAndRead([program.trunk, head.evaluate], [head.losses]);
    return meanPerSequence(new Float32Array(losses!), this.spec);
  }

  async logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    const calls = this.#callsOf(input);
    const { program, uploads, spec: { sequences, model: { contextLength, width } } } = calls;
    const { sampling } = this.#head(calls);
    assert(
      Number.isInteger(position) && position >= 0 && position < contextLength,
      `Cannot sample as 'position' must be 0 to ${contextLength - 1}: current value is ${position}`,
    );
    uploads.input(input, program);
    this.#device.run([...program.trunk, ...sampling.norm]);
    for (let sequence = 0; sampling.picked !== sampling.normed && sequence < sequences; sequence++) {
      const row = { offset: (sequence * contextLength + position) * width, size: width };
      this.#device.copy(
        partOf(sampling.normed, row),
        partOf(sampling.picked, { offset: sequence * width, size: width }),
      );
    }
    const [logits] = await this.#device.read([sampling.project], [sampling.logits]);
    return new Float32Array(logits!);
  }

  async zeroGradients(): Promise<void> {
    this.#check();
    this.#device.clear(this.#stored.gradients.ranges);
    await this.#device.finish();
  }

  async gradientSquareSum(): Promise<number> {
    const { dispatches, partialSums } = present(this.#norm, noGradients);
    const [partial] = await this.#runAndRead([dispatches], [partialSums]);
    return new Float32Array(partial!).reduce((sum, value) => sum + value, 0);
  }

  readGradients(): Promise<Float32Array> {
    return this.#readVector(this.#stored.gradients);
  }

  async step(options: StepOptions): Promise<void> {
    this.#check();
    const update = present(this.#update, noSteps);
    this.#steps++;
    for (const { range, values } of update.uploads(options, this.#steps)) {
      this.#device.buffers.upload(range, values);
    }
    this.#device.run(update.dispatches);
    this.#passes.forget();
    await this.#device.finish();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#device.destroy();
  }

  #check(): void {
    assert(!this.#isClosed, `Cannot compute as stage ${this.spec.index} is closed`);
    this.#device.check();
  }

  #vectorOf(name: StageVector): DeviceVector {
    if (name === "parameters") return this.#stored.parameters;
    return present(this.#stored.state.get(name), `Cannot use '${name}' as the stage has no vector of this name`).vector;
  }

  #upload(vector: DeviceVector, { offset, values }: { offset: number; values: Float32Array }): void {
    for (const piece of vector.pieces({ offset, size: values.length })) {
      const start = piece.offset - offset;
      this.#device.buffers.upload(piece.range, values.subarray(start, start + piece.size));
    }
  }

  #checkWireOut(): void {
    this.#check();
    assert(this.#calls.program.wireOut !== null, "The tail has no forward and no backward: use turnaround");
  }

  #callsOf({ places }: StageInput): Calls {
    return places?.length === 2 && this.#oneRow !== null ? this.#oneRow : this.#calls;
  }

  #head({ program: { head } }: Calls) {
    this.#check();
    assert(head !== null, `Stage ${this.spec.index} has no loss and no logits: only the tail does`);
    return head;
  }

  async #backwardResult(
    programs: readonly (readonly Dispatch[])[],
    wireIn: WirePort | null,
  ): Promise<Uint8Array | null> {
    if (wireIn === null) {
      this.#check();
      this.#device.run(programs.flat());
      await this.#device.finish();
      return null;
    }
    const [gradient] = await this.#runAndRead(programs, [wireIn.gradient.staged]);
    return wireIn.gradient.fromStaged(gradient!);
  }

  async #runAndRead(
    programs: readonly (readonly Dispatch[])[],
    ranges: readonly BufferRange[],
  ): Promise<ArrayBuffer[]> {
    this.#check();
    return await this.#device.read(programs, ranges);
  }

  #readWhole(vector: StageVector): Promise<Float32Array> {
    return this.#readVector(this.#vectorOf(vector));
  }

  async #readVector(
    vector: DeviceVector,
    { offset, size } = { offset: 0, size: vector.length },
  ): Promise<Float32Array> {
    this.#check();
    const pieces = vector.pieces({ offset, size });
    const [whole] = pieces;
    if (pieces.length === 1 && whole !== undefined) return await this.#device.readFloats(whole.range, size);
    const values = new Float32Array(size);
    for (const piece of pieces) {
      values.set(await this.#device.readFloats(piece.range, piece.size), piece.offset - offset);
    }
    return values;
  }
}
