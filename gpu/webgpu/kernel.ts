/**
 * From WGSL text to dispatches, built once and replayed. Pipelines are cached by text. Bindings are numbered in order;
 * constants come last as a uniform. A shader that does not compile is our bug.
 */

import { assert } from "../../core/assert.ts";
import { gpuBuffer } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import { TooLargeError } from "../fit/too_large.ts";

export interface GpuDispatch extends Dispatch {
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly workgroups: readonly [number, number, number];
}

export const groupsPerRow = 32768; // below every adapter's limit per axis

/** A flat range of workgroups, in rows. */
export function workgroupGrid(groups: number): [number, number] {
  return [Math.min(groups, groupsPerRow), Math.ceil(groups / groupsPerRow)];
}

export interface KernelSource {
  readonly label: string;
  readonly source: string;
}

export interface DispatchOptions {
  readonly kernel: KernelSource;
  readonly bindings: readonly BufferRange[];
  /** 32-bit words of the shape uniform, floats as `floatBits(x)`. */
  readonly constants?: readonly number[];
  readonly workgroups: readonly [x: number, y?: number, z?: number];
}

export class ShaderError extends Error {
  override name = "ShaderError";
}

const scratchFloat = new DataView(new ArrayBuffer(4));

export function floatBits(value: number): number {
  scratchFloat.setFloat32(0, value, true);
  return scratchFloat.getUint32(0, true);
}

export class Kernels {
  readonly #gpu: GpuDevice;
  readonly #pipelines = new Map<string, GPUComputePipeline>();
  readonly #constants = new Map<string, GPUBuffer>();
  #unchecked: { kernel: KernelSource; error: Promise<GPUError | null> }[] = [];
  #cold: GpuDispatch[] = []; // the first dispatch of each pipeline that has not run

  constructor(gpu: GpuDevice) {
    this.#gpu = gpu;
  }

  /** Each pipeline costs one compilation by the driver. */
  get count(): number {
    return this.#pipelines.size;
  }

  dispatch(options: DispatchOptions): GpuDispatch {
    const { device } = this.#gpu;
    const { kernel, bindings, constants = [], workgroups: [x, y = 1, z = 1] } = options;
    for (const [axis, count] of Object.entries({ x, y, z })) {
      const limit = device.limits.maxComputeWorkgroupsPerDimension;
      assert(
        Number.isInteger(count) && count > 0 && count <= limit,
        `Cannot dispatch ${kernel.label} as its workgroups along ${axis} must be 1 to ${limit}: current value is ${count}`,
      );
    }
    const known = this.#pipelines.get(kernel.source);
    const pipeline = known ?? this.#compile(kernel);
    const ranges = constants.length === 0 ? bindings : [...bindings, this.#constantRange(constants)];
    checkBindings(kernel.label, ranges, device.limits.maxStorageBufferBindingSize);
    const bindGroup = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: ranges.map((range, binding) => ({ binding, resource: { ...range, buffer: gpuBuffer(range) } })),
    });
    const dispatch: GpuDispatch = { label: kernel.label, pipeline, bindGroup, workgroups: [x, y, z] };
    if (known === undefined) this.#cold.push(dispatch);
    return dispatch;
  }

  /**
   * Rejects if a new shader is broken. Runs each new pipeline with one workgroup, because drivers compile at the first
   * run; the buffers' content does not matter yet.
   */
  async warmUp(): Promise<void> {
    const unchecked = this.#unchecked;
    this.#unchecked = [];
    for (const { kernel, error } of unchecked) {
      const found = await this.#gpu.whileWorking(error);
      if (found !== null) throw new ShaderError(shaderMessage(kernel, found.message));
    }
    const cold = this.#cold.map((dispatch): GpuDispatch => ({ ...dispatch, workgroups: [1, 1, 1] }));
    this.#cold = [];
    if (cold.length > 0) this.run(cold);
    await this.#gpu.whileWorking(this.#gpu.device.queue.onSubmittedWorkDone());
  }

  /** Their stage's buffers are gone. */
  forgetCold(): void {
    this.#cold = [];
  }

  run(program: readonly Dispatch[]): void {
    const encoder = this.#gpu.device.createCommandEncoder();
    encodeProgram(encoder, program);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  #compile(kernel: KernelSource): GPUComputePipeline {
    const { device } = this.#gpu;
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label: kernel.label, code: kernel.source });
    const pipeline = device.createComputePipeline({ label: kernel.label, layout: "auto", compute: { module } });
    this.#unchecked.push({ kernel, error: device.popErrorScope() });
    this.#pipelines.set(kernel.source, pipeline);
    return pipeline;
  }

  #constantRange(words: readonly number[]): BufferRange {
    const size = Math.ceil(words.length / 4) * 16;
    const key = words.join();
    let buffer = this.#constants.get(key);
    if (buffer === undefined) {
      const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
      buffer = this.#gpu.device.createBuffer({ label: `constants ${key}`, size, usage });
      this.#gpu.device.queue.writeBuffer(buffer, 0, Uint32Array.from(words));
      this.#constants.set(key, buffer);
    }
    return { buffer, offset: 0, size };
  }
}

/** All dispatches must be of the encoder's device. */
export function encodeProgram(encoder: GPUCommandEncoder, program: readonly Dispatch[]): void {
  const pass = encoder.beginComputePass();
  encodeInto(pass, program);
  pass.end();
}

export function encodeInto(pass: GPUComputePassEncoder, program: readonly Dispatch[]): void {
  let current: GPUComputePipeline | null = null;
  for (const { pipeline, bindGroup, workgroups: [x, y, z] } of program as readonly GpuDispatch[]) {
    if (pipeline !== current) pass.setPipeline(pipeline);
    current = pipeline;
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(x, y, z);
  }
}

const offsetMultiple = 256; // what every adapter allows

function checkBindings(label: string, ranges: readonly BufferRange[], limitBytes: number): void {
  for (const range of ranges) {
    const { size, offset } = range;
    assert(offset % offsetMultiple === 0, `Cannot bind to ${label} from byte ${offset}: it is not a multiple of 256`);
    if (size <= limitBytes) continue;
    const buffer = gpuBuffer(range).label;
    const action = `bind '${buffer}' to ${label} as a binding`;
    throw new TooLargeError({ label: buffer, action, bytes: size, limitBytes });
  }
}

function shaderMessage(kernel: KernelSource, message: string): string {
  const lines = kernel.source.split("\n").map((line, i) => `${String(i + 1).padStart(4)}  ${line}`);
  return `Cannot compile the shader '${kernel.label}': ${message}\n${lines.join("\n")}`;
}
