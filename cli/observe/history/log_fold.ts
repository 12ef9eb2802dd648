/**
 * Folds a record log line by line, from anywhere, and tells what is missing. A logged view replaces the folded one only
 * after a gap or damage, so that each record can be shown.
 */

import { emptyView, type RunView } from "../../../core/view/view.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";
import { foldForeign, type LogLine, parseLine, wholeView } from "../projection/log_line.ts";
import { viewProblem } from "../projection/view_shape.ts";

export interface LogPlace {
  readonly view: RunView;
  readonly sequence: number; // of the last record in the view; 0: none
  readonly atMs: number;
  readonly isDoubtful: boolean; // records were lost, and no later view has come yet
}

interface LogFoldEvents {
  readonly onMissing?: (from: number, to: number) => void;
  /** Neither a record nor a view, or cannot be folded. */
  readonly onDamaged?: () => void;
  readonly onRecord?: (entry: StampedRecord, view: RunView) => void;
}

export class LogFold implements LogPlace {
  view: RunView;
  sequence: number;
  atMs: number;
  isDoubtful: boolean;
  readonly #events: LogFoldEvents;
  #whole: LogLine | null = null; // the view that precedes the next record

  constructor(from: LogPlace = beginning(), events: LogFoldEvents = {}) {
    this.view = from.view;
    this.sequence = from.sequence;
    this.atMs = from.atMs;
    this.isDoubtful = from.isDoubtful;
    this.#events = events;
  }

  get isWhole(): boolean {
    return this.#whole === null;
  }

  take(text: string | null): void {
    const line = text === null ? null : parseLine(text);
    if (line === null) return this.#damaged();
    if (line.view !== undefined) this.#whole = line;
    else if (line.record !== undefined) this.#takeRecord(line);
    else this.#damaged();
  }

  #takeRecord({ sequence, atMs, record }: LogLine): void {
    if (record === undefined) return;
    const isNext = sequence === this.sequence + 1;
    if (!isNext && sequence > this.sequence) this.#events.onMissing?.(this.sequence + 1, sequence - 1);
    if (!isNext || this.isDoubtful) this.#adopt(sequence - 1);
    this.#whole = null;
    if (sequence <= this.sequence) return;
    if (sequence !== this.sequence + 1) this.isDoubtful = true;
    const isDamaged = foldForeign(this.view, { sequence, atMs, record }) !== null;
    this.sequence = sequence;
    this.atMs = atMs;
    if (isDamaged) return this.#damaged();
    this.#events.onRecord?.({ sequence, atMs, record }, this.view);
  }

  #adopt(before: number): void {
    const whole = this.#whole;
    if (whole?.view === undefined || whole.sequence < before || whole.sequence < this.sequence) return;
    const view = wholeView(whole.view);
    if (viewProblem(view) !== null) return this.#damaged();
    Object.assign(this, { view, sequence: whole.sequence, atMs: whole.atMs, isDoubtful: false });
  }

  #damaged(): void {
    this.isDoubtful = true;
    this.#events.onDamaged?.();
  }
}

const beginning = (): LogPlace => ({ view: emptyView(), sequence: 0, atMs: 0, isDoubtful: false });
