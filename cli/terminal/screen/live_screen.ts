/**
 * A live screen and its keys: draws at most ten times a second, once a second for the clock. Stopping is asked for
 * twice.
 */

import type { Output } from "../output/output.ts";
import type { Paint } from "../text/paint.ts";
import { cut, padEnd } from "../text/format.ts";
import { LiveTerminal } from "../output/terminal.ts";

const frameMs = 100;
const clockMs = 1_000;
const saidMs = 8_000; // in place of the hints
const readMs = 300; // nobody has read the question sooner; pasted text may hold any keys
const leastWithHints = 8; // lines

export interface FrameRoom {
  readonly width: number;
  readonly height: number;
  readonly nowMs: number; // wall clock
  readonly paint: Paint;
  readonly isDetailed: boolean;
}

export interface KeyAction {
  readonly key: string;
  readonly word: string;
  readonly doc: string;
  /** Returns what happened; a rejection is shown. */
  act(): Promise<string | null>;
}

interface LiveScreenOptions {
  readonly output: Output;
  readonly nowMs: () => number;
  readonly frame: (room: FrameRoom) => string[];
  readonly actions?: readonly KeyAction[];
  readonly hasDetails?: boolean;
}

export class LiveScreen {
  readonly #options: LiveScreenOptions;
  readonly #region: LiveTerminal | null;
  readonly #keys = new Keys();
  readonly #hasKeys: boolean;
  readonly #ticking: ReturnType<typeof setInterval> | null;
  #drawnAtMs = -Infinity;
  #pending: ReturnType<typeof setTimeout> | null = null;
  #isDetailed = false;
  #showsHelp = false;
  #askedAtMs: number | null = null;
  #said: { readonly text: string; readonly atMs: number } | null = null;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
    const { output } = options;
    this.#region = output.openLive((terminal) => new LiveTerminal(terminal));
    this.#hasKeys = this.#region !== null && output.openKeys({
      onBytes: (bytes) => this.#keys.read(bytes).forEach((key) => this.#press(key)),
      onResize: () => this.#draw(),
      onContinue: () => {
        this.#region?.forget();
        this.#draw();
      },
    });
    this.#ticking = this.#region === null ? null : setInterval(() => this.drawSoon(), clockMs);
    if (this.#ticking !== null) Deno.unrefTimer(this.#ticking);
    this.#draw();
  }

  get isOpen(): boolean {
    return this.#region !== null;
  }

  drawSoon(): void {
    if (this.#region === null || this.#pending !== null) return;
    const waitMs = Math.min(frameMs, Math.max(0, this.#drawnAtMs + frameMs - this.#options.nowMs()));
    const timer = setTimeout(() => {
      this.#pending = null;
      this.#draw();
    }, waitMs);
    Deno.unrefTimer(timer);
    this.#pending = timer;
  }

  close(): void {
    if (this.#pending !== null) clearTimeout(this.#pending);
    if (this.#ticking !== null) clearInterval(this.#ticking);
    this.#showsHelp = false;
    if (this.#region !== null) this.#region.draw(this.#frame({ hints: [] }));
    this.#options.output.closeLive();
  }

  #draw(): void {
    if (this.#region === null) return;
    this.#drawnAtMs = this.#options.nowMs();
    this.#region.draw(this.#frame({ hints: this.#hints() }));
  }

  #frame({ hints }: { hints: readonly string[] }): string[] {
    const { width, height } = this.#region!.room();
    const { output: { paint }, nowMs, frame } = this.#options;
    if (this.#showsHelp) return this.#help(width).slice(0, height);
    const shown = height < leastWithHints && this.#askedAtMs === null ? [] : hints;
    const room = { width, height: height - shown.length, nowMs: nowMs(), paint, isDetailed: this.#isDetailed };
    return [...frame(room), ...shown.map((line) => paint.dim(cut(line, width)))];
  }

  #hints(): string[] {
    if (!this.#hasKeys) return [];
    if (this.#askedAtMs !== null) return ["Press q once more to stop, any other key to go on"];
    if (this.#said !== null && this.#options.nowMs() - this.#said.atMs < saidMs) return [this.#said.text];
    const { actions = [], hasDetails = false } = this.#options;
    const words = [
      "? help",
      ...(hasDetails ? [`d ${this.#isDetailed ? "fewer" : "more"} details`] : []),
      ...actions.map(({ key, word }) => `${key} ${word}`),
      "q stop",
    ];
    return [words.join(" · ")];
  }

  #help(width: number): string[] {
    const { actions = [], hasDetails = false, output: { paint } } = this.#options;
    const rows = [
      ["?", "this help; any key closes it"],
      ...(hasDetails ? [["d", "more details, or fewer"]] : []),
      ...actions.map(({ key, doc }) => [key, doc]),
      ["q", "stop, after asking; the same as Ctrl-C"],
      ["Ctrl-C", "stop in order; once more: at once"],
    ];
    return ["", paint.bold("Keys"), ...rows.map(([key = "", doc = ""]) => cut(`  ${padEnd(key, 8)}${doc}`, width)), ""];
  }

  #press(key: string): void {
    const { actions = [], hasDetails = false, output } = this.#options;
    const nowMs = this.#options.nowMs();
    const askedAtMs = this.#askedAtMs;
    const hadHelp = this.#showsHelp;
    this.#askedAtMs = null;
    this.#showsHelp = false;
    this.#said = null;
    const action = actions.find((each) => each.key === key);
    if (key === "q") {
      if (askedAtMs !== null && nowMs - askedAtMs >= readMs) output.askToStop();
      else this.#askedAtMs = askedAtMs ?? nowMs;
    } else if (key === "?" || key === "h") this.#showsHelp = !hadHelp;
    else if (key === "d" && hasDetails) this.#isDetailed = !this.#isDetailed;
    else if (action !== undefined) this.#act(action);
    this.#draw();
  }

  #act(action: KeyAction): void {
    const say = (text: string | null) => {
      this.#said = text === null ? null : { text, atMs: this.#options.nowMs() };
      this.drawSoon();
    };
    action.act().then(say, (error) => say(error instanceof Error ? error.message : String(error)));
  }
}

/** Single characters, without what arrows, function keys and pasted escapes send. */
type Place = "text" | "escape" | "sequence" | "lone";

const escapeByte = 0x1b;

export class Keys {
  #place: Place = "text"; // a sequence may be cut between two reads

  /** In lower case. */
  read(bytes: Uint8Array): string[] {
    const keys: string[] = [];
    for (const byte of bytes) {
      const key = this.#next(byte);
      if (key !== null) keys.push(key);
    }
    if (this.#place === "escape") this.#place = "text"; // the Escape key alone: a terminal sends its sequences whole
    return keys;
  }

  /** ECMA-48, 5.4: `ESC [`, parameters, then a final byte from @ on; `ESC O` and one more are a function key. */
  #next(byte: number): string | null {
    switch (this.#place) {
      case "escape":
        this.#place = byte === 0x5b ? "sequence" : byte === 0x4f ? "lone" : "text";
        return null;
      case "sequence":
        if (byte >= 0x40 && byte <= 0x7e) this.#place = "text";
        return null;
      case "lone":
        this.#place = "text";
        return null;
      case "text":
        if (byte === escapeByte) this.#place = "escape";
        return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte).toLowerCase() : null;
    }
  }
}
