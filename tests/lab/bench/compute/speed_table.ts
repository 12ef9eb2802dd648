/**
 * The table of a contest for people: a row per task, a column for ours, one for each other, and the machine's limit.
 *
 * Rows are printed as they are measured, so columns are as wide as their headings need. Pure.
 */

import { decimal } from "../../../../cli/terminal/text/format.ts";
import { isMissing, type Missing, type Speed } from "./task.ts";

/** What is counted: on a GPU the clock, where the processor computes its own time, which other programs hardly change. */
export type Clock = "perCpuSecond" | "perSecond";

export interface TableOptions {
  readonly tasks: readonly string[]; // labels of all rows
  readonly others: readonly string[]; // names of the columns after ours
  readonly clock: Clock;
  readonly scale: number; // units in one of what is shown: 1e9 for GFLOP
  readonly limit: number | null; // in units a second
}

export interface TableRow {
  readonly task: string;
  readonly ours: Speed | Missing;
  readonly others: readonly (Speed | Missing)[];
}

const narrowest = 8; // characters of a column

export class SpeedTable {
  readonly #options: TableOptions;
  readonly #widths: readonly number[];
  readonly #headings: readonly string[];

  constructor(options: TableOptions) {
    const { tasks, others, limit } = options;
    this.#options = options;
    const ratio = others.length === 0 ? [] : ["to the best"];
    this.#headings = ["ours", ...others, ...(limit === null ? [] : ["limit"]), ...ratio];
    const first = Math.max(0, ...tasks.map((task) => task.length));
    this.#widths = [first, ...this.#headings.map((heading) => Math.max(narrowest, heading.length))];
  }

  heading(): string {
    return this.#line(["", ...this.#headings]);
  }

  row({ task, ours, others }: TableRow): string {
    const { limit, clock, scale } = this.#options;
    const shown = (result: Speed | Missing) => isMissing(result) ? "-" : number(result[clock] / scale);
    const limits = limit === null ? [] : [number(limit / scale)];
    const best = Math.max(0, ...others.map((other) => isMissing(other) ? 0 : other[clock]));
    const ratio = isMissing(ours) || best === 0 ? "-" : `${(ours[clock] / best).toFixed(2)} x`;
    return this.#line([task, shown(ours), ...others.map(shown), ...limits, ...(others.length === 0 ? [] : [ratio])]);
  }

  #line(cells: readonly string[]): string {
    return cells.map((cell, i) => i === 0 ? cell.padEnd(this.#widths[i]!) : cell.padStart(this.#widths[i]!))
      .join("  ").trimEnd();
  }
}

const number = (value: number) => value < 100 ? value.toFixed(1) : decimal(Math.round(value));
