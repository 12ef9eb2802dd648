/**
 * The GPU buffers of one stage, destroyed together: otherwise nothing is freed until a garbage collection.
 *
 * All reading back goes through one staging buffer here: touching a mapped range before `mapAsync` resolved makes Deno
 * panic. Each `mapAsync` costs about 11 ms in Deno, so a task reads everything at once.
 */

import { assert } from "../../core/assert.ts";
import type { GpuDevice } from "./device.ts";
import type { BufferRange, DeviceBuffers } from "../stage_ops.ts";
import { TooLargeError } from "../fit/too_large.ts";

export function gpuBuffer({ buffer }: BufferRange): GPUBuffer {
  return buffer as GPUBuffer; // ranges stay with their device
}

const submitBytes = 1 << 20; // larger uploads are submitted at once
const chunkBytes = 16 << 20; // larger transfers go in pieces: an upload stages a copy until the next submit

export class StageBuffers implements DeviceBuffers {
  readonly #gpu: GpuDevice;
  readonly #owned: GPUBuffer[] = [];
  readonly #shared = new Map<string, BufferRange>();
  readonly #partBytes: number;
  #staging: GPUBuffer | null = null;
  #storageBytes = 0;
  #bytes = 0;

  /** `partBytes`: the most for one part of a vector. */
  constructor(gpu: GpuDevice, { partBytes = Infinity }: { partBytes?: number | undefined } = {}) {
    this.#gpu = gpu;
    this.#partBytes = partBytes;
  }

  get largestBytes(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#gpu.device.limits;
    return Math.min(this.#partBytes, maxBufferSize, maxStorageBufferBindingSize);
  }

  storage(label: string, count: number): BufferRange {
    const { limits } = this.#gpu.device;
    const size = Math.max(16, count * 4);
    if (size > limits.maxBufferSize) {
      const action = `allocate '${label}' as a buffer`;
      throw new TooLargeError({ label, action, bytes: size, limitBytes: limits.maxBufferSize });
    }
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = this.#create({ label, size, usage });
    this.#storageBytes += size;
    return { buffer, offset: 0, size };
  }

  get bytes(): number {
    return this.#bytes;
  }

  get storageBytes(): number {
    return [...this.#shared.values()].reduce((left, { size }) => left - size, this.#storageBytes);
  }

  scratch(label: string, count: number): BufferRange {
    const known = this.#shared.get(label);
    if (known !== undefined) {
      assert(known.size === Math.max(16, count * 4), `Cannot share scratch '${label}': its size differs`);
      return known;
    }
    const made = this.storage(label, count);
    this.#shared.set(label, made);
    return made;
  }

  uniform(label: string, bytes: number): BufferRange {
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    return { buffer: this.#create({ label, size: bytes, usage }), offset: 0, size: bytes };
  }

  upload(range: BufferRange, data: Float32Array | Uint32Array | Uint8Array): void {
    assert(data.byteLength <= range.size, `Cannot upload ${data.byteLength} bytes into ${range.size}`);
    const { queue } = this.#gpu.device;
    for (let start = 0; start < data.byteLength; start += chunkBytes) {
      const bytes = Math.min(chunkBytes, data.byteLength - start);
      // writeBuffer's own offsets count elements, not bytes.
      const part = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset + start, bytes);
      queue.writeBuffer(gpuBuffer(range), range.offset + start, part);
      if (data.byteLength >= submitBytes) queue.submit([]); // frees the upload's staging memory
    }
  }

  /** Before the first `read`. */
  reserveStaging(bytes: number): void {
    assert(this.#staging === null, "Staging is reserved once");
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const size = Math.max(bytes, 16);
    this.#staging = this.#create({ label: "staging", size, usage });
  }

  /** Ends `encoder` with copies of `ranges`. Returns owned copies. */
  async submitAndRead(encoder: GPUCommandEncoder, ranges: readonly BufferRange[]): Promise<ArrayBuffer[]> {
    const staging = this.#staging;
    assert(staging !== null, "Staging must be reserved before reading");
    let end = 0;
    const starts = ranges.map((range) => {
      const start = end;
      encoder.copyBufferToBuffer(gpuBuffer(range), range.offset, staging, start, range.size);
      end += range.size;
      return start;
    });
    assert(end <= staging.size, `Cannot read ${end} bytes at once as staging holds ${staging.size}`);
    this.#gpu.device.queue.submit([encoder.finish()]);
    await this.#gpu.whileWorking(staging.mapAsync(GPUMapMode.READ, 0, end));
    const mapped = staging.getMappedRange(0, end);
    const copies = ranges.map((range, i) => mapped.slice(starts[i]!, starts[i]! + range.size));
    staging.unmap();
    return copies;
  }

  async readFloats(range: BufferRange, count: number): Promise<Float32Array> {
    const result = new Float32Array(count);
    const pieceBytes = Math.min(chunkBytes, this.#staging?.size ?? 0);
    for (let start = 0; start < count * 4; start += pieceBytes) {
      const size = Math.min(pieceBytes, count * 4 - start);
      const encoder = this.#gpu.device.createCommandEncoder();
      const [bytes] = await this.submitAndRead(encoder, [{ buffer: range.buffer, offset: range.offset + start, size }]);
      result.set(new Float32Array(bytes!), start / 4);
    }
    return result;
  }

  /**
   * For work without a result. In Deno, asking for the queue's end blocks until the GPU is idle; awaiting the answer
   * adds 10 ms. The next call finds a failure at the latest.
   */
  finish(): Promise<void> {
    this.#gpu.device.queue.onSubmittedWorkDone().catch(() => {
      // Only a lost device rejects, and GpuDevice reports it.
    });
    this.#gpu.throwIfFailed();
    return Promise.resolve();
  }

  async settle(): Promise<void> {
    await this.#gpu.whileWorking(this.#gpu.device.queue.onSubmittedWorkDone());
  }

  #create(descriptor: GPUBufferDescriptor): GPUBuffer {
    this.#bytes += descriptor.size;
    const buffer = this.#gpu.device.createBuffer(descriptor);
    this.#owned.push(buffer);
    return buffer;
  }

  destroy(): void {
    for (const buffer of this.#owned) buffer.destroy();
    this.#owned.length = 0;
    this.#shared.clear();
  }
}
