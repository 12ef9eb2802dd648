/**
 * A program's time, by the device's timestamps if it was opened with them, otherwise by the clock until the queue is
 * done.
 */

import type { GpuDevice } from "../device.ts";
import { encodeInto, encodeProgram, type GpuDispatch } from "../kernel.ts";

export class Stopwatch {
  readonly #gpu: GpuDevice;
  readonly #stamps: Stamps | null;

  constructor(gpu: GpuDevice) {
    this.#gpu = gpu;
    this.#stamps = gpu.device.features.has("timestamp-query") ? new Stamps(gpu.device) : null;
  }

  get isOnDevice(): boolean {
    return this.#stamps !== null;
  }

  /** As many repetitions run before, untimed: an idle GPU takes 0.1 s to reach its clock. */
  async milliseconds(program: readonly GpuDispatch[], times: number): Promise<number> {
    const { device } = this.#gpu;
    const encoder = device.createCommandEncoder();
    if (this.#stamps !== null) encodeProgram(encoder, Array.from({ length: times }, () => program).flat());
    const pass = encoder.beginComputePass(this.#stamps === null ? {} : { timestampWrites: this.#stamps.writes });
    for (let i = 0; i < times; i++) encodeInto(pass, program);
    pass.end();
    this.#stamps?.resolve(encoder);
    const startMs = performance.now();
    device.queue.submit([encoder.finish()]);
    await this.#gpu.whileWorking(device.queue.onSubmittedWorkDone());
    const clockMs = performance.now() - startMs;
    const stampedMs = await this.#gpu.whileWorking(this.#stamps?.milliseconds() ?? Promise.resolve(null));
    return (stampedMs ?? clockMs) / times;
  }

  close(): void {
    this.#stamps?.destroy();
  }
}

const stampBytes = 8;

class Stamps {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #read: GPUBuffer;

  constructor(device: GPUDevice) {
    const size = 2 * stampBytes;
    this.#queries = device.createQuerySet({ type: "timestamp", count: 2 });
    this.#resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.#read = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  }

  get writes(): GPUComputePassTimestampWrites {
    return { querySet: this.#queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  }

  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#read, 0, 2 * stampBytes);
  }

  /** Null if they make no sense, as after some drivers' reset. */
  async milliseconds(): Promise<number | null> {
    await this.#read.mapAsync(GPUMapMode.READ);
    const [start = 0n, end = 0n] = new BigUint64Array(this.#read.getMappedRange().slice(0));
    this.#read.unmap();
    return end > start ? Number(end - start) / 1e6 : null;
  }

  destroy(): void {
    this.#queries.destroy();
    this.#resolved.destroy();
    this.#read.destroy();
  }
}
