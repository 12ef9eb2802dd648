/**
 * A stage on the processor: WebAssembly SIMD without relaxed operations, so every machine computes the same bits, on
 * any number of threads.
 */

import type { StageSpec } from "../../core/model/spec.ts";
import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "../compute.ts";
import { createDeviceStage } from "../stage.ts";
import type { StageDevice } from "../stage_device.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import type { GradientNorm, Update, VectorParts } from "../stage_vectors.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./layout/memory.ts";
import { CpuOps } from "./ops.ts";
import type { StartHelpers } from "./threads/helper_messages.ts";
import { startHelpers } from "./threads/helper_threads.ts";
import { type Sharing, Team } from "./threads/team.ts";
import { buildGradientNorm, cpuUpdates } from "./updates.ts";

export const cpuAdapter: AdapterDescription = { device: "cpu", name: "processor (WebAssembly SIMD)", isSoftware: true };

interface Threading {
  readonly start?: StartHelpers; // @default workers of this thread
  readonly sharing?: Sharing;
}

export async function createCpuStage(
  spec: StageSpec,
  options: StageOptions = {},
  threading: Threading = {},
): Promise<StageCompute> {
  const { partBytes, threads = 1 } = options;
  const isShared = threads > 1;
  const mostBytes = isShared ? await bytesOfCpuStage(spec, options) : undefined;
  const memory = new CpuMemory({ isShared, partBytes, mostBytes });
  return await createDeviceStage(new CpuStageDevice(memory, { threads, ...threading }), spec, options);
}

/** Built on paper. Throws an OutOfMemoryError if it does not fit. */
export async function bytesOfCpuStage(
  spec: StageSpec,
  options: StageOptions = {},
): Promise<number> {
  const { partBytes, threads = 1 } = options;
  const memory = new CpuMemory({ isPaper: true, partBytes });
  await createDeviceStage(new CpuStageDevice(memory, { threads }), spec, options);
  return memory.usedBytes;
}

export class CpuStageDevice implements StageDevice {
  readonly adapter = cpuAdapter;
  readonly buffers: CpuMemory;
  readonly ops: CpuOps;
  readonly #team: Team;
  readonly #start: StartHelpers;

  constructor(memory: CpuMemory, { threads, start = startHelpers, sharing }: Threading & { threads: number }) {
    this.buffers = memory;
    this.#team = new Team(memory, { threads, sharing });
    this.ops = new CpuOps(memory, this.#team);
    this.#start = start;
  }

  reserveReads(): void {
    // results are copied straight from memory
  }

  async warmUp(): Promise<void> {
    await this.#team.start(this.#start);
  }

  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update {
    return cpuUpdates[optimizer]({ ...parts, ...this.#place() });
  }

  buildGradientNorm(parts: VectorParts): GradientNorm {
    return buildGradientNorm({ ...parts, ...this.#place() });
  }

  check(): void {
    this.#team.check(); // traps in this thread's kernels throw at once
  }

  run(program: readonly Dispatch[]): void {
    for (const { run } of program as readonly CpuDispatch[]) run();
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
    this.#team.close();
  }

  #place() {
    return { memory: this.buffers, team: this.#team, ops: this.ops };
  }
}
