/**
 * Bits in bytes, the lowest bit of a byte first: what sparse payloads are written with.
 *
 * A reader returns zeros beyond the end, so its caller asks `isOverrun` once for many reads. Out of scope: what the bits mean.
 */

const firstBytes = 1024;
const mostAtOnce = 24; // bits: with the 7 that wait for their byte they fit an integer of 32

export class BitWriter {
  #bytes = new Uint8Array(firstBytes);
  #length = 0;
  #held = 0; // bits of the byte that is not full yet
  #heldBits = 0; // less than 8

  /** The lowest `bits` of the value, which has no others; at most 24. */
  write(value: number, bits: number): void {
    this.#held |= value << this.#heldBits;
    this.#heldBits += bits;
    while (this.#heldBits >= 8) {
      this.#push(this.#held & 0xff);
      this.#held >>>= 8;
      this.#heldBits -= 8;
    }
  }

  write32(value: number): void {
    this.write(value & 0xffff, 16);
    this.write(value >>> 16, 16);
  }

  /** This many zeros, then a one. */
  writeUnary(zeros: number): void {
    let left = zeros;
    for (; left >= mostAtOnce; left -= mostAtOnce) this.write(0, mostAtOnce);
    this.write(1 << left, left + 1);
  }

  /** Everything written, filled up with zeros to whole bytes. Ends the writing. */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.#heldBits > 0) this.#push(this.#held & 0xff);
    return this.#bytes.slice(0, this.#length);
  }

  #push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const longer = new Uint8Array(2 * this.#length);
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    this.#bytes[this.#length++] = byte;
  }
}

export class BitReader {
  readonly #bytes: Uint8Array; // shorter than 2^28
  #at = 0; // bits

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** At most 24 bits. */
  read(bits: number): number {
    const value = this.#next() & ((1 << bits) - 1);
    this.#at += bits;
    return value;
  }

  read32(): number {
    const low = this.read(16);
    return low + this.read(16) * 2 ** 16;
  }

  /** The number of zeros before a one; any number above `most` if there are more than that. */
  readUnary(most: number): number {
    let zeros = 0;
    while (zeros <= most) {
      const next = this.#next() & 0xff_ffff;
      if (next !== 0) {
        const here = 31 - Math.clz32(next & -next);
        this.#at += here + 1;
        return zeros + here;
      }
      zeros += mostAtOnce;
      this.#at += mostAtOnce;
    }
    return zeros;
  }

  /** Whether more was read than the bytes hold. */
  get isOverrun(): boolean {
    return this.#at > 8 * this.#bytes.length;
  }

  /** Whether everything was read: what is left is less than a byte, and zero. */
  get isAtEnd(): boolean {
    const left = 8 * this.#bytes.length - this.#at;
    return left >= 0 && left < 8 && this.#next() === 0;
  }

  /** At least 25 bits, then zeros. */
  #next(): number {
    const bytes = this.#bytes;
    const first = this.#at >>> 3;
    const { length } = bytes;
    if (first + 4 <= length) {
      const word = bytes[first]! | (bytes[first + 1]! << 8) | (bytes[first + 2]! << 16) | (bytes[first + 3]! << 24);
      return word >>> (this.#at & 7);
    }
    let word = 0;
    for (let i = 0; first + i < length; i++) word |= bytes[first + i]! << (8 * i);
    return word >>> (this.#at & 7);
  }
}
