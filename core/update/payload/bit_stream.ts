/**
 * Bits in bytes, lowest bit first, for sparse payloads. A reader returns zeros beyond the end, so `isOverrun` is asked
 * once after many reads.
 */

const firstBytes = 1024;

/** Bits per write or look: with up to 7 before them they fit a 32-bit integer. */
export const mostAtOnce = 24;

export class BitWriter {
  #bytes = new Uint8Array(firstBytes);
  #length = 0;
  #held = 0; // of the open byte
  #heldBits = 0; // less than 8

  /** `value` has no bits above the lowest `bits`, at most `mostAtOnce`. */
  write(value: number, bits: number): void {
    let held = this.#held | (value << this.#heldBits);
    let heldBits = this.#heldBits + bits;
    if (this.#length + 4 > this.#bytes.length) this.#grow();
    const bytes = this.#bytes;
    let length = this.#length;
    for (; heldBits >= 8; heldBits -= 8) {
      bytes[length++] = held;
      held >>>= 8;
    }
    [this.#held, this.#heldBits, this.#length] = [held, heldBits, length];
  }

  write32(value: number): void {
    this.write(value & 0xffff, 16);
    this.write(value >>> 16, 16);
  }

  /** Zeros, then a one. */
  writeUnary(zeros: number): void {
    let left = zeros;
    for (; left >= mostAtOnce; left -= mostAtOnce) this.write(0, mostAtOnce);
    this.write(1 << left, left + 1);
  }

  /** Pads with zeros to whole bytes and ends the writing. */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.#heldBits > 0) this.write(0, 8 - this.#heldBits);
    return this.#bytes.slice(0, this.#length);
  }

  #grow(): void {
    const longer = new Uint8Array(2 * this.#bytes.length);
    longer.set(this.#bytes);
    this.#bytes = longer;
  }
}

export class BitReader {
  readonly #bytes: Uint8Array; // shorter than 2^28
  readonly #words: DataView;
  #at = 0; // bits

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The next `mostAtOnce` bits, perhaps one more, without reading them. */
  look(): number {
    const first = this.#at >>> 3;
    const word = first + 4 <= this.#bytes.length ? this.#words.getInt32(first, true) : this.#lastWord(first);
    return word >>> (this.#at & 7) & 0x1ff_ffff;
  }

  advance(bits: number): void {
    this.#at += bits;
  }

  /** At most `mostAtOnce`. */
  read(bits: number): number {
    const value = this.look() & ((1 << bits) - 1);
    this.#at += bits;
    return value;
  }

  read32(): number {
    const low = this.read(16);
    return low + this.read(16) * 2 ** 16;
  }

  /** Zeros before a one; some number above `most` if there are more. */
  readUnary(most: number): number {
    let zeros = 0;
    while (zeros <= most) {
      const next = this.look();
      if (next !== 0) {
        const here = lowestOne(next);
        this.#at += here + 1;
        return zeros + here;
      }
      zeros += mostAtOnce;
      this.#at += mostAtOnce;
    }
    return zeros;
  }

  /** More was read than there is. */
  get isOverrun(): boolean {
    return this.#at > 8 * this.#bytes.length;
  }

  /** The rest is less than a byte, and zero. */
  get isAtEnd(): boolean {
    const left = 8 * this.#bytes.length - this.#at;
    return left >= 0 && left < 8 && this.look() === 0;
  }

  /** Its last bytes may be missing. */
  #lastWord(first: number): number {
    let word = 0;
    for (let i = 0; i < 4 && first + i < this.#bytes.length; i++) word |= this.#bytes[first + i]! << (8 * i);
    return word;
  }
}

/** -1: none. The minus is in integers, because -0 slows the engine down. */
export const lowestOne = (word: number): number => 31 - Math.clz32(word & (~word + 1));
