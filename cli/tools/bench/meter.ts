/**
 * Counts events and reports their cost: after a warm-up, for some seconds. The clock is read when work is counted, so
 * that no timer runs beside it.
 */

import process from "node:process";

export interface Measured {
  readonly seconds: number;
  readonly count: number;
  readonly bytes: number;
  readonly cpuSeconds: number; // this process, user and system
  readonly rssBytes: number;
}

const warmUpShare = 0.25; // of the seconds, and before them

export class Meter {
  readonly done: Promise<Measured>;
  readonly #seconds: number;
  readonly #warmUntilMs: number;
  #resolve!: (measured: Measured) => void;
  #startedMs: number | null = null;
  #startedCpu = 0;
  #count = 0;
  #bytes = 0;

  constructor(seconds: number) {
    this.#seconds = seconds;
    this.#warmUntilMs = performance.now() + 1000 * seconds * warmUpShare;
    this.done = new Promise((resolve) => this.#resolve = resolve);
  }

  count(bytes: number): void {
    const nowMs = performance.now();
    if (this.#startedMs === null) {
      if (nowMs < this.#warmUntilMs) return;
      this.#startedMs = nowMs;
      this.#startedCpu = cpuSeconds();
      return;
    }
    this.#count += 1;
    this.#bytes += bytes;
    const seconds = (nowMs - this.#startedMs) / 1000;
    if (seconds < this.#seconds) return;
    this.#resolve({
      seconds,
      count: this.#count,
      bytes: this.#bytes,
      cpuSeconds: cpuSeconds() - this.#startedCpu,
      rssBytes: Deno.memoryUsage().rss,
    });
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
