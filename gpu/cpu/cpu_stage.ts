/**
 * A stage on the processor: WebAssembly SIMD without relaxed operations, so every machine and every engine computes the same
 * bits. Work is done when a call returns.
 */

import type { StageSpec } from "../../core/model/spec.ts";
import type { OptimizerName } from "../../core/train/optimizer_names.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "../compute.ts";
import { createDeviceStage } from "../stage.ts";
import type { StageDevice } from "../stage_device.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import type { GradientNorm, Update, VectorParts } from "../stage_vectors.ts";
import { type CpuKernels, cpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./memory.ts";
import { CpuOps } from "./ops.ts";
import { buildGradientNorm, cpuUpdates } from "./updates.ts";

export const cpuAdapter: AdapterDescription = { device: "cpu", name: "processor (WebAssembly SIMD)", isSoftware: true };

/** A stage with all parameters zero; load them before use. */
export function createCpuStage(spec: StageSpec, options: StageOptions = {}): Promise<StageCompute> {
  return createDeviceStage(new CpuStageDevice(new CpuMemory({ partBytes: options.partBytes })), spec, options);
}

/** What a stage would take, found by building it on paper; throws an OutOfMemoryError if it does not fit. */
export async function bytesOfCpuStage(
  spec: StageSpec,
  options: StageOptions = {},
): Promise<number> {
  const memory = new CpuMemory({ isPaper: true, partBytes: options.partBytes });
  await createDeviceStage(new CpuStageDevice(memory), spec, options);
  return memory.usedBytes;
}

class CpuStageDevice implements StageDevice {
  readonly adapter = cpuAdapter;
  readonly buffers: CpuMemory;
  readonly ops: CpuOps;
  readonly #kernels: CpuKernels;

  constructor(memory: CpuMemory) {
    this.buffers = memory;
    this.#kernels = cpuKernels(this.buffers.memory);
    this.ops = new CpuOps(this.buffers, this.#kernels);
  }

  reserveReads(): void {
    // results are copied straight from memory
  }

  warmUp(): Promise<void> {
    return Promise.resolve(); // the kernels were compiled with their module
  }

  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update {
    return cpuUpdates[optimizer]({ ...parts, ...this.#place() });
  }

  buildGradientNorm(parts: VectorParts): GradientNorm {
    return buildGradientNorm({ ...parts, ...this.#place() });
  }

  check(): void {
    // a trap in a kernel throws where it happens
  }

  run(program: readonly Dispatch[]): void {
    for (const { run } of program as readonly CpuDispatch[]) run(); // they are of this device
  }

  read(programs: readonly (readonly Dispatch[])[], ranges: readonly BufferRange[]): Promise<ArrayBuffer[]> {
    for (const program of programs) this.run(program);
    return Promise.resolve(ranges.map((range) => this.buffers.bytes(range).slice().buffer as ArrayBuffer));
  }

  readFloats(range: BufferRange, count: number): Promise<Float32Array> {
    return Promise.resolve(this.buffers.floats(range).slice(0, count));
  }

  copy(from: BufferRange, to: BufferRange): void {
    this.buffers.bytes(to).set(this.buffers.bytes(from));
  }

  clear(ranges: readonly BufferRange[]): void {
    for (const range of ranges) this.buffers.zero(range);
  }

  finish(): Promise<void> {
    return Promise.resolve();
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  destroy(): void {
    // the memory goes with its last reference
  }

  #place() {
    return { memory: this.buffers, kernels: this.#kernels, ops: this.ops };
  }
}
