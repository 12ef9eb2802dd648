/** A stage on WebGPU. Stages may share a device. */

import type { StageSpec } from "../../../core/model/spec.ts";
import type { OptimizerName } from "../../../core/config/optimizer_names.ts";
import { gpuBuffer, StageBuffers } from "../buffers.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "../../compute.ts";
import { type GpuDevice, GpuFailure } from "../device.ts";
import { TooLittleMemoryError } from "../../fit/too_large.ts";
import { encodeProgram, Kernels } from "../kernel.ts";
import { type KernelSettings, kernelsFor, Ops } from "../ops.ts";
import type { GradientNorm, Update, VectorParts } from "../../stage_vectors.ts";
import { buildGradientNorm, updates } from "../optimizers/updates.ts";
import { createDeviceStage } from "../../stage.ts";
import type { StageDevice } from "../../stage_device.ts";
import type { BufferRange, Dispatch } from "../../stage_ops.ts";

export interface WebGpuStageOptions extends StageOptions {
  /** Shared by a device's stages: each shader compiles once. @default a new one */
  readonly kernels?: Kernels;
  /** @default by adapter (kernelsFor) */
  readonly settings?: KernelSettings;
}

/** All parameters are zero; shaders are compiled. */
export function createWebGpuStage(
  gpu: GpuDevice,
  spec: StageSpec,
  options: WebGpuStageOptions = {},
): Promise<StageCompute> {
  return createDeviceStage(new WebGpuStageDevice(gpu, options), spec, options);
}

const readChunkBytes = 4 << 20; // so that reading parameters does not take many 11 ms waits

export class WebGpuStageDevice implements StageDevice {
  readonly adapter: AdapterDescription;
  readonly buffers: StageBuffers;
  readonly ops: Ops;
  readonly #gpu: GpuDevice;
  readonly #building: BuildScope;

  constructor(gpu: GpuDevice, options: WebGpuStageOptions) {
    const settings = options.settings ?? kernelsFor(gpu);
    this.adapter = gpu.adapter;
    this.buffers = new StageBuffers(gpu, { partBytes: options.partBytes });
    this.ops = new Ops(options.kernels ?? new Kernels(gpu), settings);
    this.#gpu = gpu;
    this.#building = new BuildScope(gpu.device);
  }

  reserveReads(bytes: number): void {
    this.buffers.reserveStaging(Math.max(bytes, readChunkBytes));
  }

  async warmUp(): Promise<void> {
    const error = await this.#gpu.whileWorking(this.#building.end());
    if (error !== null) throw this.#refusal(error);
    await this.ops.kernels.warmUp();
  }

  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update {
    return updates[optimizer]({ ...parts, ...this.#place() });
  }

  buildGradientNorm(parts: VectorParts): GradientNorm {
    return buildGradientNorm({ ...parts, ...this.#place() });
  }

  check(): void {
    this.#gpu.throwIfFailed();
  }

  run(program: readonly Dispatch[]): void {
    this.ops.kernels.run(program);
  }

  /** One encoder, pass, submit and read-back. */
  async read(programs: readonly (readonly Dispatch[])[], ranges: readonly BufferRange[]): Promise<ArrayBuffer[]> {
    const encoder = this.#gpu.device.createCommandEncoder();
    encodeProgram(encoder, programs.flat());
    return await this.buffers.submitAndRead(encoder, ranges);
  }

  readFloats(range: BufferRange, count: number): Promise<Float32Array> {
    return this.buffers.readFloats(range, count);
  }

  copy(from: BufferRange, to: BufferRange): void {
    const encoder = this.#gpu.device.createCommandEncoder();
    encoder.copyBufferToBuffer(gpuBuffer(from), from.offset, gpuBuffer(to), to.offset, from.size);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  clear(ranges: readonly BufferRange[]): void {
    const encoder = this.#gpu.device.createCommandEncoder();
    for (const range of ranges) encoder.clearBuffer(gpuBuffer(range), range.offset, range.size);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  finish(): Promise<void> {
    return this.buffers.finish();
  }

  settle(): Promise<void> {
    return this.buffers.settle();
  }

  destroy(): void {
    this.#building.end().catch(() => {
      // Only a lost device rejects, and GpuDevice reports it.
    });
    this.ops.kernels.forgetCold();
    this.buffers.destroy();
  }

  #refusal(error: GPUError): Error {
    const { message: reason } = error;
    if (!(error instanceof GPUOutOfMemoryError)) {
      return new GpuFailure(`Cannot build this stage as the GPU rejected a command: ${reason}`);
    }
    const limitBytes = this.#gpu.device.limits.maxBufferSize;
    return TooLittleMemoryError.given({ adapter: this.adapter.name, bytes: this.buffers.bytes, limitBytes, reason });
  }

  #place() {
    const bindingBytes = this.#gpu.device.limits.maxStorageBufferBindingSize;
    return { ops: this.ops, buffers: this.buffers, bindingBytes };
  }
}

/**
 * Catches the errors of building a stage, which would otherwise fail the device for all stages. Limits do not promise
 * memory: SwiftShader allows buffers of 1 GiB and gives none of that size. Building is synchronous, so no other errors
 * end up here.
 */
export class BuildScope {
  readonly #device: GPUDevice;
  #isOpen = true;

  constructor(device: GPUDevice) {
    this.#device = device;
    device.pushErrorScope("validation"); // what a missing buffer causes later
    device.pushErrorScope("out-of-memory");
  }

  /** The first error, one of memory if possible; null: all is built. */
  async end(): Promise<GPUError | null> {
    if (!this.#isOpen) return null;
    this.#isOpen = false;
    const popped = [this.#device.popErrorScope(), this.#device.popErrorScope()];
    const [memory, other] = await Promise.all(popped);
    return memory ?? other ?? null;
  }
}
