/**
 * The lower part of a terminal, redrawn while other lines scroll above it. Only changed lines are drawn, in a
 * synchronised update if the terminal supports it.
 *
 * The cursor stays at the start of the line below. A change of width may have wrapped the old frame; the rows that it
 * now takes are cleared.
 */

import { visibleWidth } from "../text/format.ts";

const escape = "\x1b[";
const hideCursor = `${escape}?25l`;
const showCursor = `${escape}?25h`;
const wrapOff = `${escape}?7l`;
const wrapOn = `${escape}?7h`;
const beginUpdate = `${escape}?2026h`;
const endUpdate = `${escape}?2026l`;
const clearToLineEnd = `${escape}K`;
const narrowest = 39; // for a window of 40 columns
const clearBelow = `${escape}J`;

interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface LiveTerminalOptions {
  readonly write: (text: string) => void;
  readonly size: () => TerminalSize;
}

export class LiveTerminal {
  readonly #write: (text: string) => void;
  readonly #size: () => TerminalSize;
  #shown: readonly string[] = [];
  #columns = 0; // when #shown was drawn
  #open = true;

  constructor({ write, size }: LiveTerminalOptions) {
    this.#write = write;
    this.#size = size;
  }

  /** A row and a column stay free for the cursor, which clears what it stands on. */
  room(): { width: number; height: number } {
    const { columns, rows } = this.#size();
    return { width: Math.max(narrowest, columns - 1), height: Math.max(1, rows - 1) };
  }

  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    const { columns } = this.#size();
    const text = columns === this.#columns ? this.#changes(lines) : this.#rewind(columns) + whole(lines);
    this.#shown = lines;
    this.#columns = columns;
    if (text !== "") this.#write(update(text));
  }

  insertAbove(lines: string): void {
    if (!this.#open) return;
    const { columns } = this.#size();
    this.#write(update(`${this.#rewind(columns)}${wrapOn}${lines}\n${wrapOff}${whole(this.#shown)}`));
    this.#columns = columns;
  }

  forget(): void {
    this.#shown = [];
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#write(wrapOn + showCursor);
  }

  #rewind(columns: number): string {
    const rows = this.#shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(visibleWidth(line) / columns)), 0);
    return `${up(rows)}\r${clearBelow}`;
  }

  #changes(lines: readonly string[]): string {
    const unchanged = lines.length === this.#shown.length && lines.every((line, i) => line === this.#shown[i]);
    if (unchanged) return "";
    const drawn = lines.map((line, i) => line === this.#shown[i] ? "\n" : `${line}${clearToLineEnd}\n`);
    const fewer = lines.length < this.#shown.length ? clearBelow : "";
    return `${up(this.#shown.length)}\r${drawn.join("")}${fewer}`;
  }
}

function whole(lines: readonly string[]): string {
  return lines.map((line) => `${line}${clearToLineEnd}\n`).join("");
}

function up(rows: number): string {
  return rows === 0 ? "" : `${escape}${rows}A`;
}

function update(text: string): string {
  return `${beginUpdate}${hideCursor}${wrapOff}${text}${wrapOn}${endUpdate}`;
}
