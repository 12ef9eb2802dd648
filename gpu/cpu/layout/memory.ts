/**
 * One stage's WebAssembly memory, never freed in parts; on paper it only counts. A range's offset is its address.
 * Allocations are zero and begin at cache lines (64 bytes).
 */

import { assert } from "../../../core/assert.ts";
import type { BufferRange, DeviceBuffers } from "../../stage_ops.ts";
import { mostPages, pageBytes } from "../wasm/module_builder.ts";

export class OutOfMemoryError extends Error {
  override name = "OutOfMemoryError";
  readonly usedBytes: number;

  constructor(
    { label, bytes, usedBytes, mostBytes = mostPages * pageBytes }: {
      readonly label: string;
      readonly bytes: number;
      readonly usedBytes: number;
      readonly mostBytes?: number;
    },
  ) {
    const mebibytes = (count: number) => `${Math.ceil(count / 2 ** 20)} MiB`;
    super(
      `Cannot allocate '${label}' of ${mebibytes(bytes)} beside the stage's ${
        mebibytes(usedBytes)
      }: a stage on the processor ` +
        `has at most ${mebibytes(mostBytes)}, within the machine's memory`,
    );
    this.usedBytes = usedBytes;
  }
}

const alignment = 64;

interface MemoryOptions {
  readonly isPaper?: boolean;
  readonly isShared?: boolean;
  readonly partBytes?: number | undefined;
  readonly mostBytes?: number | undefined;
}

export class CpuMemory implements DeviceBuffers {
  readonly largestBytes: number;
  readonly memory: WebAssembly.Memory;
  readonly isPaper: boolean;
  readonly #mostPages: number;
  readonly #shared = new Map<string, BufferRange>();
  #end = alignment; // nothing lies at 0
  #storageBytes = 0;

  /** A shared memory reserves `mostBytes` of addresses at once. */
  constructor({ isPaper = false, isShared = false, ...limits }: MemoryOptions = {}) {
    this.isPaper = isPaper;
    this.largestBytes = limits.partBytes ?? Infinity;
    this.#mostPages = Math.min(mostPages, Math.ceil((limits.mostBytes ?? Infinity) / pageBytes));
    this.memory = this.#made({ isShared: isShared && !isPaper });
  }

  #made({ isShared }: { isShared: boolean }): WebAssembly.Memory {
    try {
      return new WebAssembly.Memory({ initial: 1, maximum: this.#mostPages, shared: isShared });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new OutOfMemoryError({
        label: "a stage",
        bytes: this.#mostBytes,
        usedBytes: 0,
        mostBytes: this.#mostBytes,
      });
    }
  }

  get #mostBytes(): number {
    return this.#mostPages * pageBytes;
  }

  storage(label: string, count: number): BufferRange {
    const range = this.#allocate(label, count);
    this.#storageBytes += range.size;
    return range;
  }

  scratch(label: string, count: number): BufferRange {
    const known = this.#shared.get(label);
    if (known !== undefined) {
      assert(known.size === bytesOf(count), `Cannot share scratch '${label}': its size differs`);
      return known;
    }
    const made = this.#allocate(label, count);
    this.#shared.set(label, made);
    return made;
  }

  get storageBytes(): number {
    return this.#storageBytes;
  }

  get usedBytes(): number {
    return this.#end;
  }

  upload(range: BufferRange, data: Float32Array | Uint32Array | Uint8Array): void {
    if (this.isPaper) return;
    assert(data.byteLength <= range.size, `Cannot upload ${data.byteLength} bytes into ${range.size}`);
    this.bytes(range).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }

  zero(range: BufferRange): void {
    if (!this.isPaper) this.bytes(range).fill(0);
  }

  /** Valid until the next allocation. */
  bytes({ offset, size }: BufferRange): Uint8Array {
    return new Uint8Array(this.memory.buffer, offset, size);
  }

  floats({ offset, size }: BufferRange): Float32Array {
    return new Float32Array(this.memory.buffer, offset, size / 4);
  }

  words({ offset, size }: BufferRange): Uint32Array {
    return new Uint32Array(this.memory.buffer, offset, size / 4);
  }

  #allocate(label: string, count: number): BufferRange {
    const size = bytesOf(count);
    const offset = this.#end;
    const end = Math.ceil((offset + size) / alignment) * alignment;
    const asked = { label, bytes: size, usedBytes: offset, mostBytes: this.#mostBytes };
    if (end > this.#mostBytes) throw new OutOfMemoryError(asked);
    const pages = Math.ceil(end / pageBytes) - this.memory.buffer.byteLength / pageBytes;
    if (pages > 0 && !this.isPaper) this.#grow(pages, asked);
    this.#end = end;
    return { buffer: this, offset, size };
  }

  #grow(pages: number, asked: ConstructorParameters<typeof OutOfMemoryError>[0]): void {
    try {
      this.memory.grow(pages);
    } catch {
      throw new OutOfMemoryError(asked); // a RangeError names neither number
    }
  }
}

const bytesOf = (count: number): number => Math.max(16, Math.ceil(count / 4) * 16);
