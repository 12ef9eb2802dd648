/**
 * Everything that a command prints: for people, or with --json for programs, one JSON line each. The summary comes last
 * on stdout.
 *
 * When stdout's reader has gone (`iota … | head`), nothing more goes there and `onReaderGone` is called once. A full
 * disk behind stdout is an error, and the last attempt there.
 */

import { assert } from "../../../core/assert.ts";
import type { Host } from "../../rights/host.ts";
import { createLog, jsonLine, type Log, type LogFormat, type LogLevel } from "./log.ts";
import type { KeyboardListener } from "../../program/keyboard.ts";
import { createPaint, type Paint } from "../text/paint.ts";
import { explainRefusal, UserError } from "../../program/errors.ts";
import type { LiveTerminal, LiveTerminalOptions } from "./terminal.ts";
import { withoutColour } from "../text/format.ts";
import { type SummaryFields, summaryTable } from "./summary_table.ts";

/** `live`: a moving screen on a terminal; `plain`: lines for people; `json`: for programs. */
type OutputMode = "live" | "plain" | "json";

/** Injected, because few commands draw and all load this file. */
type CreateTerminal = (options: LiveTerminalOptions) => LiveTerminal;

type OutputEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Output {
  readonly mode: OutputMode;
  readonly quiet: boolean;
  readonly paint: Paint;
  readonly columns: number;
  readonly log: Log;
  event(record: OutputEvent): void;
  watchEvents(listener: (record: OutputEvent) => void): void;
  /** One line for people, unless --quiet. */
  line(text: string): void;
  /** A part of a line for people, as soon as it is there; with --quiet too, because it is what was asked for. */
  piece(text: string): void;
  /** With --verbose; always in a log file. */
  detail(text: string): void;
  keep(text: string): void;
  readonly drawsProgress: "inPlace" | "asLines" | "not";
  /** Replaces the last one, below all other lines; null: none. */
  drawProgress(line: string | null): void;
  /** Printed when the command ends; the last call counts. `closing`: lines for people below it. */
  summary(fields: SummaryFields, closing?: readonly string[]): void;
  /** For a command that goes on for a person who watches; only in live mode. */
  printSummary(): void;
  /** A result that fits no table: the text for people (empty: already shown), the fields for programs. */
  answer(fields: SummaryFields, text: string): void;
  /** The whole log from now on: log lines, and all lines for people with a timestamp. */
  copyTo(sink: (line: string) => void, options: { readonly stampOf: () => string }): void;
  /** Null unless the mode is live. Lines and logs then go above it. */
  openLive(create: CreateTerminal): LiveTerminal | null;
  closeLive(): void;
  /** Until `closeLive`. False: nobody can type. */
  openKeys(listener: KeyboardListener): boolean;
  askToStop(): void;
}

interface OutputOptions {
  readonly host: Host;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
  readonly logLevel?: LogLevel; // @default by quiet and verbose
  readonly logFormat?: LogFormat;
}

const columnsElsewhere = 120;

export class TerminalOutput implements Output {
  readonly mode: OutputMode;
  readonly quiet: boolean;
  readonly paint: Paint;
  readonly errorPaint: Paint;
  readonly log: Log;
  readonly host: Host;
  onReaderGone: () => void = () => {};
  onLiveOpened: () => void = () => {}; // code that hides the cursor must catch Ctrl-C to restore it
  onAskedToStop: () => void = () => {};
  #region: LiveTerminal | null = null;
  #onEvent: (record: OutputEvent) => void = () => {};
  #progressLine: string | null = null;
  #closeKeys: (() => void) | null = null;
  #summary: SummaryFields | null = null;
  #closing: readonly string[] = [];
  #readerGone = false;
  #copy: ((line: string) => void) | null = null;
  #stampOf: () => string = () => "";
  readonly #verbose: boolean;
  readonly #logFormat: LogFormat;

  constructor({ host, json, quiet, verbose, noColor, logLevel, logFormat = "text" }: OutputOptions) {
    const { environment } = host;
    const dumb = environment.get("TERM") === "dumb";
    const colorsWanted = !noColor && !environment.get("NO_COLOR") && !dumb;
    this.host = host;
    this.#logFormat = logFormat;
    this.#verbose = verbose;
    this.quiet = quiet;
    this.mode = json ? "json" : host.isTerminal("stdout") && !dumb && !quiet ? "live" : "plain";
    this.paint = createPaint(colorsWanted && !json && host.isTerminal("stdout"));
    this.errorPaint = createPaint(colorsWanted && host.isTerminal("stderr"));
    const now = () => host.now();
    const shown = createLog({
      least: logLevel ?? (verbose ? "debug" : quiet ? "warn" : "info"),
      format: logFormat,
      paint: this.errorPaint,
      withDate: !host.isTerminal("stderr"),
      now,
      write: (line) => this.#showError(line),
    });
    const kept = createLog({
      least: logLevel ?? (verbose ? "debug" : "info"),
      format: logFormat,
      paint: createPaint(false),
      withDate: true,
      now,
      write: (line) => this.#copy?.(line),
    });
    const both = (level: LogLevel) => (text: string) => {
      shown[level](text);
      kept[level](text);
    };
    this.log = { debug: both("debug"), info: both("info"), warn: both("warn"), error: both("error") };
  }

  get hasSummary(): boolean {
    return this.#summary !== null;
  }

  get columns(): number {
    return this.host.terminalSize()?.columns ?? columnsElsewhere;
  }

  watchEvents(listener: (record: OutputEvent) => void): void {
    this.#onEvent = listener;
  }

  event(record: OutputEvent): void {
    this.#onEvent(record);
    if (this.mode !== "json") return;
    const line = JSON.stringify(record);
    this.#copy?.(line);
    this.writeOut(`${line}\n`);
  }

  line(text: string): void {
    if (this.mode === "json") return;
    this.keep(text);
    if (this.quiet) return;
    if (this.#region === null) this.#aside(() => this.writeOut(`${text}\n`));
    else this.#region.insertAbove(text);
  }

  piece(text: string): void {
    if (this.mode !== "json") this.writeOut(text);
  }

  detail(text: string): void {
    if (this.#verbose) this.line(text);
    else this.keep(text);
  }

  keep(text: string): void {
    if (this.mode !== "json") this.#copy?.(this.#stamped("info", text));
  }

  get drawsProgress(): "inPlace" | "asLines" | "not" {
    if (this.mode === "json" || this.quiet || this.#region !== null) return "not";
    return this.mode === "live" ? "inPlace" : "asLines";
  }

  drawProgress(line: string | null): void {
    if (this.drawsProgress !== "inPlace" || (line === null && this.#progressLine === null)) return;
    this.#progressLine = line;
    this.writeOut(`\r${line === null ? "" : this.paint.dim(line)}\x1b[K`);
  }

  /** A progress line makes room for other text and is drawn again below it. */
  #aside(write: () => void): void {
    const line = this.#progressLine;
    if (line !== null) this.writeOut("\r\x1b[K");
    write();
    if (line !== null) this.writeOut(this.paint.dim(line));
  }

  summary(fields: SummaryFields, closing: readonly string[] = []): void {
    this.#summary = fields;
    this.#closing = this.mode === "json" || this.quiet ? [] : closing;
  }

  printSummary(): void {
    if (this.mode === "live") this.close();
  }

  explain({ label, text }: { readonly label: "error" | "next" | null; readonly text: string }): void {
    const paints = { error: this.errorPaint.red, next: this.errorPaint.dim };
    const lines = label === null
      ? text
      : `${paints[label](label)}${" ".repeat(6 - label.length)}${text.replaceAll("\n", "\n      ")}`;
    this.#copy?.(this.#stamped("error", this.#logFormat === "json" ? text : lines));
    this.#showError(this.#logFormat === "json" ? this.#stamped("error", text) : lines);
  }

  #stamped(level: LogLevel, text: string): string {
    const plain = withoutColour(text);
    return this.#logFormat === "json"
      ? jsonLine({ level, text: plain }, this.host.now())
      : `${this.#stampOf()} ${plain}`;
  }

  #showError(text: string): void {
    if (this.#region !== null && this.host.isTerminal("stderr")) this.#region.insertAbove(text);
    else this.#aside(() => quietly(() => this.host.write("stderr", `${text}\n`)));
  }

  answer(fields: SummaryFields, text: string): void {
    this.drawProgress(null);
    if (this.mode === "json") this.summary(fields);
    else if (text !== "") this.writeOut(`${text}\n`);
  }

  writeOut(text: string): void {
    if (this.#readerGone) return;
    try {
      if (quietly(() => this.host.write("stdout", text))) return;
    } catch (error) {
      this.#readerGone = true; // nothing more is printed, not even the error
      const refusal = explainRefusal(error, { action: "write to", value: "standard output" });
      if (refusal === undefined) throw error;
      throw new UserError(refusal.message, { next: "Free some space, or send the output elsewhere", cause: error });
    }
    this.#readerGone = true;
    this.onReaderGone();
  }

  copyTo(sink: (line: string) => void, { stampOf }: { readonly stampOf: () => string }): void {
    this.#copy = sink;
    this.#stampOf = stampOf;
  }

  openLive(create: CreateTerminal): LiveTerminal | null {
    if (this.mode !== "live") return null;
    assert(this.#region === null, "A live screen is open already");
    this.onLiveOpened();
    this.#region = create({
      write: (text) => this.writeOut(text),
      size: () => this.host.terminalSize() ?? { columns: 80, rows: 24 },
    });
    return this.#region;
  }

  openKeys(listener: KeyboardListener): boolean {
    assert(this.mode === "live", "Cannot read keys: the output is not a terminal");
    this.#closeKeys = this.host.openKeys(listener);
    return this.#closeKeys !== null;
  }

  askToStop(): void {
    this.onAskedToStop();
  }

  closeLive(): void {
    this.#closeKeys?.();
    this.#closeKeys = null;
    if (this.#region === null) return;
    this.#region.close();
    this.#region = null;
    this.writeOut("\n");
  }

  close(): void {
    this.drawProgress(null);
    this.closeLive();
    const fields = this.#summary;
    this.#summary = null;
    if (fields === null) return;
    const lines = this.mode === "json"
      ? [JSON.stringify({ type: "summary", ...fields })]
      : [...summaryTable(fields, this.paint), ...this.#closing];
    for (const line of lines) {
      const isJson = this.mode === "json" || this.#logFormat === "text";
      this.#copy?.(isJson ? withoutColour(line) : this.#stamped("info", line));
    }
    this.writeOut(`${lines.join("\n")}\n`);
  }
}

/** False: its reader is gone. */
function quietly(write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe || isHungUp(error)) return false;
    throw error;
  }
}

function isHungUp(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === "EIO";
}
