/**
 * What a home line does to bytes: a delay each way, a rate each way, jitter, and resets.
 *
 *     "40ms 20mbit"                       one way 40 ms, each direction 20 Mbit/s
 *     "150ms 5mbit jitter 20ms reset 5min"  and up to 20 ms more, and every connection cut after about 5 minutes
 *
 * Owns the words and the arithmetic of one direction. Pure. Out of scope: sockets (shaped_link.ts). Lost packets are not
 * modelled: TCP repeats them, so to a program they are jitter and, at worst, a reset.
 */

export interface LinkShape {
  readonly delayMs: number; // one way
  readonly bytesPerMs: number; // each direction; Infinity: as fast as the machine
  readonly jitterMs: number; // at most so much is added to a delay
  readonly resetMs: number; // about the life of a connection; Infinity: no resets
}

const number = "(\\d{1,6}(?:\\.\\d{1,3})?)";
const pattern = new RegExp(
  `^${number}ms(?:\\s+${number}(k|m|g)bit)?(?:\\s+jitter\\s+${number}ms)?(?:\\s+reset\\s+${number}(s|min))?$`,
);
const bitsOf: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, g: 1e9 };
const msOf: Readonly<Record<string, number>> = { s: 1_000, min: 60_000 };

/** Null if the words are not of the grammar, or a rate or life is zero. */
export function parseLinks(text: string): LinkShape | null {
  const [, delay, rate, unit, jitter, life, lifeUnit] = pattern.exec(text.trim().toLowerCase()) ?? [];
  if (delay === undefined) return null;
  const shape: LinkShape = {
    delayMs: Number(delay),
    bytesPerMs: rate === undefined ? Infinity : Number(rate) * bitsOf[unit!]! / 8 / 1_000,
    jitterMs: Number(jitter ?? 0),
    resetMs: life === undefined ? Infinity : Number(life) * msOf[lifeUnit!]!,
  };
  return shape.bytesPerMs > 0 && shape.resetMs > 0 ? shape : null;
}

/** In the words that `parseLinks` reads. */
export function linksText({ delayMs, bytesPerMs, jitterMs, resetMs }: LinkShape): string {
  return [
    `${delayMs}ms`,
    ...(bytesPerMs === Infinity ? [] : [`${bytesPerMs * 8}kbit`]),
    ...(jitterMs === 0 ? [] : [`jitter ${jitterMs}ms`]),
    ...(resetMs === Infinity ? [] : [`reset ${resetMs / 1_000}s`]),
  ].join(" ");
}

/** One direction of a line: what is sent waits for what was sent before, and arrives in order. */
export class Direction {
  readonly #shape: LinkShape;
  #freeAtMs = 0; // the last byte has left
  #arrivedAtMs = 0;

  constructor(shape: LinkShape) {
    this.#shape = shape;
  }

  /** When so many bytes, given now, have arrived. `unit`: a random number in [0, 1), for jitter. */
  send(bytes: number, { nowMs, unit }: { nowMs: number; unit: number }): number {
    const { delayMs, bytesPerMs, jitterMs } = this.#shape;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + bytes / bytesPerMs;
    this.#arrivedAtMs = Math.max(this.#arrivedAtMs, this.#freeAtMs + delayMs + unit * jitterMs);
    return this.#arrivedAtMs;
  }
}

const leastInFlight = 256 * 1024;

/** Bytes that a sender may have given to one direction without waiting: twice what the line holds, as routers queue. */
export function mostInFlight({ delayMs, bytesPerMs }: LinkShape): number {
  return bytesPerMs === Infinity ? 64 * leastInFlight : Math.max(leastInFlight, 2 * bytesPerMs * delayMs);
}
