/**
 * The progress of long work: one line drawn in place on a terminal, otherwise a plain line now and then. Only the
 * recent pace counts, so that a slow start does not spoil the estimate.
 */

import type { Output } from "./output.ts";
import { bar, byteSize, cut, decimal, roughly } from "../text/format.ts";

interface Progress {
  /** `total` null: unknown. `now`: what is worked at. */
  at(done: number, total: number | null, now?: string): void;
  close(): void;
}

interface ProgressOptions {
  readonly label: string;
  readonly unit?: "bytes" | string; // "moments"; @default none
  readonly nowMs: () => number; // monotonic
  /** Null: none from now on. */
  readonly draw: (line: string | null) => void;
  readonly width: () => number;
  /** Null: drawn in place. */
  readonly say: ((line: string) => void) | null;
}

/** Shows nothing with --json or --quiet, or while a live screen is open. */
export function openProgress(output: Output, label: string, unit?: string): Progress {
  if (output.drawsProgress === "not") return { at: () => {}, close: () => {} };
  const progress = new WorkProgress({
    ...{ label, ...(unit === undefined ? {} : { unit }), nowMs: () => performance.now() },
    draw: (line) => output.drawProgress(line),
    width: () => output.columns - 1,
    say: output.drawsProgress === "inPlace" ? null : (line) => output.log.info(line),
  });
  const ticking = setInterval(() => progress.again(), tickMs); // while nothing new is known
  Deno.unrefTimer(ticking);
  return {
    at: (done, total, now) => progress.at(done, total, now),
    close() {
      clearInterval(ticking);
      progress.close();
    },
  };
}

const tickMs = 1_000;
const drawMs = 100;
const sayMs = 10_000;
const quietMs = 1_000; // shorter work needs no line
const sampleMs = 500;
const mostSamples = 20; // the pace covers at least the last ten seconds
const leastMs = 3_000; // of that part, for an estimate
const leastShare = 0.01; // for an estimate

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

export class WorkProgress implements Progress {
  readonly #options: ProgressOptions;
  readonly #startMs: number;
  #samples: Sample[] = [];
  #last: Pick<ShownProgress, "done" | "total" | "now"> | null = null;
  #drawnAtMs = -Infinity;
  #saidAtMs: number;
  #isOpen = true;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startMs = options.nowMs();
    this.#saidAtMs = this.#startMs;
  }

  at(done: number, total: number | null, now = ""): void {
    this.#last = { done, total, now };
    const atMs = this.#options.nowMs();
    const last = this.#samples.at(-1);
    if (last === undefined || atMs - last.atMs >= sampleMs) {
      this.#samples = [...this.#samples, { atMs, done }].slice(-mostSamples);
    }
    this.again();
  }

  again(): void {
    const { nowMs, label, unit = "", draw, width, say } = this.#options;
    const atMs = nowMs();
    if (!this.#isOpen || this.#last === null || atMs - this.#startMs < quietMs) return;
    const { done, total, now } = this.#last;
    const shown = { label, unit, done, total, now, leftMs: leftOf(this.#samples, { done, total, atMs }) };
    if (say !== null) {
      if (atMs - this.#saidAtMs < sayMs) return;
      this.#saidAtMs = atMs;
      say(progressLine(shown, null));
    } else if (atMs - this.#drawnAtMs >= drawMs) {
      this.#drawnAtMs = atMs;
      draw(progressLine(shown, width()));
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.draw(null);
  }
}

/** From the pace since the oldest sample; null: too little to go by, or it stands still. */
export function leftOf(
  samples: readonly Sample[],
  { done, total, atMs }: { done: number; total: number | null; atMs: number },
): number | null {
  const first = samples[0];
  if (first === undefined || total === null || !(total > 0)) return null;
  const part = done - first.done;
  const tookMs = atMs - first.atMs;
  if (tookMs < leastMs || part <= 0 || part < leastShare * total) return null;
  return (Math.max(0, total - done) * tookMs) / part;
}

interface ShownProgress {
  readonly label: string;
  readonly unit: string;
  readonly done: number;
  readonly total: number | null;
  readonly now: string;
  readonly leftMs: number | null;
}

/** `width` null: a plain line, without a bar. */
export function progressLine({ label, unit, done, total, now, leftMs }: ShownProgress, width: number | null): string {
  const amount = (value: number) => unit === "bytes" ? byteSize(value) : decimal(value);
  const noun = unit === "bytes" || unit === "" ? "" : ` ${unit}`;
  const share = total !== null && total > 0 ? Math.min(1, Math.max(0, done / total)) : null;
  const counted = total === null ? `${amount(done)}${noun}` : `${amount(done)} of ${amount(total)}${noun}`;
  const left = leftMs === null ? "" : `, about ${roughly(leftMs)} left`;
  const words = `${counted}${left}${now === "" ? "" : ` · ${now}`}`;
  const percent = share === null ? "" : `${Math.floor(100 * share)} % `;
  if (width === null) return `${label}: ${percent}${share === null ? "" : "· "}${words}`;
  const drawn = share === null || width < 60 ? "" : `${bar(share, 20)} `;
  return cut(`${label}  ${drawn}${percent}${share === null ? "" : "· "}${words}`, width);
}
