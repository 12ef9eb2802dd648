/**
 * One stage's memory on the processor: a WebAssembly memory, handed out from its start, never given back in parts. On paper it
 * only counts, to find out beforehand what a stage takes.
 *
 * A range's offset is its address. Every allocation begins at a multiple of 64 bytes, a cache line, and is zero. Out of scope:
 * what is computed (ops.ts).
 */

import { assert } from "../../core/assert.ts";
import type { BufferRange, DeviceBuffers } from "../stage_ops.ts";
import { mostPages, pageBytes } from "./wasm/module_builder.ts";

/** The stage needs more memory than 32-bit addresses reach, or than the machine gives. */
export class OutOfMemoryError extends Error {
  override name = "OutOfMemoryError";
  readonly usedBytes: number;

  constructor({ label, bytes, usedBytes }: { label: string; bytes: number; usedBytes: number }) {
    const mebibytes = (count: number) => `${Math.ceil(count / 2 ** 20)} MiB`;
    super(
      `Cannot allocate '${label}' of ${mebibytes(bytes)} beside the stage's ${
        mebibytes(usedBytes)
      } as a stage on the ` +
        `processor must fit ${mebibytes(mostPages * pageBytes)} and the machine's memory`,
    );
    this.usedBytes = usedBytes;
  }
}

const alignment = 64;

export class CpuMemory implements DeviceBuffers {
  readonly largestBytes: number;
  readonly memory: WebAssembly.Memory;
  readonly #isPaper: boolean;
  readonly #shared = new Map<string, BufferRange>();
  #end = alignment; // nothing lies at address 0
  #storageBytes = 0;

  /** `partBytes`: the most that one part of a vector may have; memory is one, so by default there is no limit. */
  constructor({ isPaper = false, partBytes = Infinity }: { isPaper?: boolean; partBytes?: number | undefined } = {}) {
    this.#isPaper = isPaper;
    this.largestBytes = partBytes;
    this.memory = new WebAssembly.Memory({ initial: 1, maximum: mostPages });
  }

  storage(label: string, count: number): BufferRange {
    const range = this.#allocate(label, count);
    this.#storageBytes += range.size;
    return range;
  }

  scratch(label: string, count: number): BufferRange {
    const known = this.#shared.get(label);
    if (known !== undefined) {
      assert(known.size === bytesOf(count), `Cannot share scratch '${label}' as its size must not differ`);
      return known;
    }
    const made = this.#allocate(label, count);
    this.#shared.set(label, made);
    return made;
  }

  get storageBytes(): number {
    return this.#storageBytes;
  }

  /** Of all allocations. */
  get usedBytes(): number {
    return this.#end;
  }

  upload(range: BufferRange, data: Float32Array | Uint32Array | Uint8Array): void {
    if (this.#isPaper) return;
    assert(data.byteLength <= range.size, `Cannot upload ${data.byteLength} bytes into ${range.size}`);
    this.bytes(range).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }

  zero(range: BufferRange): void {
    if (!this.#isPaper) this.bytes(range).fill(0);
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
    const asked = { label, bytes: size, usedBytes: offset };
    if (end > mostPages * pageBytes) throw new OutOfMemoryError(asked);
    const pages = Math.ceil(end / pageBytes) - this.memory.buffer.byteLength / pageBytes;
    if (pages > 0 && !this.#isPaper) this.#grow(pages, asked);
    this.#end = end;
    return { buffer: this, offset, size };
  }

  #grow(pages: number, asked: { label: string; bytes: number; usedBytes: number }): void {
    try {
      this.memory.grow(pages);
    } catch {
      throw new OutOfMemoryError(asked); // a RangeError that names neither number
    }
  }
}

const bytesOf = (count: number): number => Math.max(16, Math.ceil(count / 4) * 16);
