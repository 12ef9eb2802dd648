/**
 * Memory for outgoing frames, reused once a frame has been acknowledged. The caller must overwrite all of it.
 *
 * A fresh mebibyte costs up to 0.5 ms in page faults; copying into reused memory takes 0.03 ms.
 */

const grainBytes = 64 * 1024; // below this the allocator is fast enough; sizes are rounded up to it
const largestBytes = 8 * 1024 * 1024;
const mostBytes = 32 * 1024 * 1024;

export class FrameMemory {
  readonly #free = new Map<number, ArrayBuffer[]>();
  #freeBytes = 0;

  get freeBytes(): number {
    return this.#freeBytes;
  }

  take(bytes: number): Uint8Array {
    if (bytes < grainBytes || bytes > largestBytes) return new Uint8Array(bytes);
    const capacity = Math.ceil(bytes / grainBytes) * grainBytes;
    const buffer = this.#free.get(capacity)?.pop();
    if (buffer === undefined) return new Uint8Array(new ArrayBuffer(capacity), 0, bytes);
    this.#freeBytes -= capacity;
    return new Uint8Array(buffer, 0, bytes);
  }

  /** Only memory from `take`, returned once, with no reader left. */
  giveBack(frame: Uint8Array): void {
    const { buffer } = frame;
    const capacity = buffer.byteLength;
    if (!(buffer instanceof ArrayBuffer) || capacity < grainBytes || capacity > largestBytes) return;
    if (capacity % grainBytes !== 0) return;
    if (this.#freeBytes + capacity > mostBytes) this.#forget(); // buffers of sizes not currently requested
    const free = this.#free.get(capacity);
    if (free === undefined) this.#free.set(capacity, [buffer]);
    else free.push(buffer);
    this.#freeBytes += capacity;
  }

  #forget(): void {
    this.#free.clear();
    this.#freeBytes = 0;
  }
}
