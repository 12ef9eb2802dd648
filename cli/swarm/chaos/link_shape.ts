/**
 * What a home line does to bytes: delay and rate each way, jitter, resets. Pure.
 *
 *     "40ms 20mbit"                       one way 40 ms, each direction 20 Mbit/s
 *     "150ms 5mbit jitter 20ms reset 5min"  up to 20 ms more, every connection cut after about 5 minutes
 *
 * Lost packets are not modelled: TCP repeats them, so to a program they are jitter and, at worst, a reset.
 */

import { present } from "../../../core/assert.ts";
import { linksGrammar } from "./grammars.ts";

export interface LinkShape {
  readonly delayMs: number; // one way
  readonly bytesPerMs: number; // each direction; Infinity: no limit
  readonly jitterMs: number; // at most, added to a delay
  readonly resetMs: number; // about the life of a connection; Infinity: no resets
}

const number = "(\\d+(?:\\.\\d+)?)";
const pattern = new RegExp(
  `^${number}ms(?:\\s+${number}([kmg]bit))?(?:\\s+jitter\\s+${number}ms)?(?:\\s+reset\\s+${number}(s|min))?$`,
);
const shortNumber = /^\d{1,6}(\.\d{1,3})?$/;
const rates: Units = { kbit: 1e3 / 8_000, mbit: 1e6 / 8_000, gbit: 1e9 / 8_000 };
const lives: Units = { s: 1_000, min: 60_000 };
type Units = Readonly<Record<string, number>>;

const wordsOf = (text: string): string[] => pattern.exec(text.trim().toLowerCase()) ?? [];

export function parseLinks(text: string): LinkShape | null {
  if (brokenLinksRule(text) !== null) return null;
  const [, delay, rate, unit, jitter, life, lifeUnit] = wordsOf(text);
  return {
    delayMs: Number(delay),
    bytesPerMs: rate === undefined ? Infinity : Number(rate) * rates[unit!]!,
    jitterMs: Number(jitter ?? 0),
    resetMs: life === undefined ? Infinity : Number(life) * lives[lifeUnit!]!,
  };
}

/** The broken rule; null: none. */
export function brokenLinksRule(text: string): string | null {
  const [, delay, rate, , jitter, life] = wordsOf(text);
  if (delay === undefined) return `it must be ${linksGrammar}`;
  const long = [delay, rate, jitter, life].find((each) => each !== undefined && !shortNumber.test(each));
  if (long !== undefined) return `each of its numbers must have at most 6 digits and 3 decimals, but one is ${long}`;
  if (rate !== undefined && Number(rate) === 0) return "its rate must be above 0";
  return life !== undefined && Number(life) === 0 ? "the life of a connection, its reset, must be above 0" : null;
}

export function linksText({ delayMs, bytesPerMs, jitterMs, resetMs }: LinkShape): string {
  return [
    `${delayMs}ms`,
    ...(bytesPerMs === Infinity ? [] : [inUnits(bytesPerMs, rates)]),
    ...(jitterMs === 0 ? [] : [`jitter ${jitterMs}ms`]),
    ...(resetMs === Infinity ? [] : [`reset ${inUnits(resetMs, lives)}`]),
  ].join(" ");
}

function inUnits(value: number, units: Units): string {
  const counts = Object.entries(units).map(([unit, size]) => ({
    count: Number((value / size).toFixed(3)),
    unit,
    size,
  }));
  const [shortest] = counts.filter(({ count, size }) => count * size === value && count < 1e6)
    .map(({ count, unit }) => ({ digits: String(count).length, text: `${count}${unit}` }))
    .sort((a, b) => a.digits - b.digits); // then the smaller unit
  return present(shortest, "a number of the grammar has three decimals at most").text;
}

/** What is sent waits for what was sent before. */
export class Direction {
  readonly #shape: LinkShape;
  #freeAtMs = 0;
  #arrivedAtMs = 0;

  constructor(shape: LinkShape) {
    this.#shape = shape;
  }

  /** `unit`: a random number in [0, 1), for jitter. */
  send(bytes: number, { nowMs, unit }: { nowMs: number; unit: number }): number {
    const { delayMs, bytesPerMs, jitterMs } = this.#shape;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + bytes / bytesPerMs;
    this.#arrivedAtMs = Math.max(this.#arrivedAtMs, this.#freeAtMs + delayMs + unit * jitterMs);
    return this.#arrivedAtMs;
  }
}

const leastInFlight = 256 * 1024;

/** Twice what the line holds, as routers queue. */
export function mostInFlight({ delayMs, bytesPerMs }: LinkShape): number {
  return bytesPerMs === Infinity ? 64 * leastInFlight : Math.max(leastInFlight, 2 * bytesPerMs * delayMs);
}
