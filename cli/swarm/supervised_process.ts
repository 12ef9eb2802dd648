/**
 * A role of a swarm as a process that is restarted when it dies, except after exit code 0, its own last word (a
 * `summary` or `error` line), or too many deaths in a row without progress. A deliberate kill is not a death.
 *
 * beginning -> running -> replacing -> running …, any -> ended
 */

import { assert } from "../../core/assert.ts";
import { UserError } from "../program/errors.ts";
import { type Child, lastLines } from "./role_process.ts";

/** In a row, without progress. */
export const maxDeaths = 3;

export type Line = Readonly<Record<string, unknown>>;

export interface Death {
  readonly name: string;
  readonly pid: number;
  readonly code: number;
  readonly count: number;
}

export interface LastEnd {
  readonly code: number;
  readonly isAsked: boolean; // asked to end: its code is not news
  /** What went wrong, unless it ended by itself. */
  readonly error: UserError | null;
}

interface SupervisedOptions {
  readonly name: string;
  /** Lives are numbered from 1. */
  readonly words: (life: number) => Promise<readonly string[]>;
  readonly start: (life: { number: number; words: readonly string[]; onLine: (line: Line) => void }) => Child;
  readonly onLine: (line: Line) => void;
  readonly isProgress: (line: Line) => boolean;
  readonly onStarted: (pid: number) => void;
  readonly onRestart: (death: Death) => void;
}

export class SupervisedProcess {
  readonly name: string;
  readonly ended: Promise<LastEnd>;
  readonly #options: SupervisedOptions;
  #state: "beginning" | "running" | "replacing" | "ended" = "beginning";
  #child: Child | null = null;
  #lives = 0;
  #deaths = 0;
  #isLetGo = false;
  #hasSpoken = false; // its last word, in this life
  #error: UserError | null = null;
  #awaiting: ((pid: number | null) => void)[] = [];

  constructor(options: SupervisedOptions) {
    this.name = options.name;
    this.#options = options;
    this.ended = this.#live().finally(() => this.#settle(null));
  }

  get isRunning(): boolean {
    return this.#state === "running" && !this.#isLetGo;
  }

  /** 0 before the first life. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get restarts(): number {
    return Math.max(0, this.#lives - 1);
  }

  nextPid(): Promise<number | null> {
    if (this.#state === "ended") return Promise.resolve(null);
    return new Promise((resolve) => this.#awaiting.push(resolve));
  }

  signal(signal: Deno.Signal): void {
    if (this.#state === "running") this.#child?.kill(signal);
  }

  /** Resolves to the new process; null: none follows. */
  kill(): Promise<number | null> {
    assert(this.isRunning, `Cannot kill ${this.name}: it does not run`);
    const next = this.nextPid();
    this.signal("SIGKILL");
    this.#state = "replacing";
    return next;
  }

  /** With a signal, the process is asked to end. */
  letGo(signal?: Deno.Signal): void {
    this.#isLetGo = true;
    if (signal !== undefined) this.signal(signal);
  }

  async #live(): Promise<LastEnd> {
    for (let code = 0;;) {
      this.#hasSpoken = false;
      const words = await this.#options.words(this.#lives + 1);
      if (this.#isLetGo) return this.#end(code);
      const child = this.#begin(words);
      code = await child.ended;
      if (!this.#livesAgain(child, code)) {
        if (code !== 0 && !this.#hasSpoken && !this.#isLetGo) this.#error = await failureOf(child, code);
        return this.#end(code);
      }
    }
  }

  #begin(words: readonly string[]): Child {
    this.#lives += 1;
    const child = this.#options.start({ number: this.#lives, words, onLine: (line) => this.#onLine(line) });
    this.#child = child;
    this.#state = "running";
    this.#options.onStarted(child.pid);
    this.#settle(child.pid);
    return child;
  }

  #livesAgain(child: Child, code: number): boolean {
    if (this.#isLetGo || this.#hasSpoken || code === 0) return false;
    if (this.#state === "replacing") return true;
    this.#state = "replacing";
    this.#deaths += 1;
    if (this.#deaths > maxDeaths) return false;
    this.#options.onRestart({ name: this.name, pid: child.pid, code, count: this.#deaths });
    return true;
  }

  #end(code: number): LastEnd {
    this.#state = "ended";
    return { code, isAsked: this.#isLetGo, error: this.#error };
  }

  #onLine(line: Line): void {
    if (line["type"] === "summary" || line["type"] === "error") this.#hasSpoken = true;
    if (line["type"] === "error") this.#error ??= errorOf(line);
    if (this.#options.isProgress(line)) this.#deaths = 0;
    this.#options.onLine(line);
  }

  #settle(pid: number | null): void {
    for (const resolve of this.#awaiting.splice(0)) resolve(pid);
  }
}

function errorOf(line: Line): UserError {
  const next = line["next"];
  return new UserError(String(line["message"]), typeof next === "string" ? { next } : {});
}

async function failureOf(child: Child, code: number): Promise<UserError> {
  const text = await lastLines(child.logPath);
  return new UserError(`The ${child.name} ended early with code ${code}: ${text === "" ? "it left no log" : text}`, {
    next: `Its log: ${child.logPath}`,
  });
}
