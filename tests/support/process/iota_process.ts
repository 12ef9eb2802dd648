/** Runs the program as a person does: a real process, its JSON lines as they come, its log. */

import { EventLog } from "../event_log.ts";
import { PrintedLines } from "./printed_lines.ts";
import { TextLineStream } from "../../../cli/program/text_lines.ts";

const root = new URL("../../..", import.meta.url).pathname;
const fromCheckout = (entry: string) =>
  [
    Deno.execPath(),
    ...["run", "--quiet", "--no-prompt", "--config", `${root}deno.json`, "--allow-all", `${root}${entry}`],
  ] as const;

/** What starts this checkout's program, before its own words. */
export const iotaCommand: readonly string[] = fromCheckout("cli/main.ts");

export interface Line {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessOptions {
  /** It leads a session, as a program in a terminal of its own: see `interruptAll`. */
  readonly ownSession?: boolean;
  /** A file that is iota; default: this checkout. */
  readonly program?: string;
  /** A module of this checkout that is started instead of the program's own entry. */
  readonly entry?: string;
  /** Words before the program's own: it is started through them. */
  readonly through?: readonly string[];
  readonly cwd?: string;
  readonly clearEnv?: boolean;
}

export class IotaProcess {
  readonly lines = new EventLog<Line>();
  /** Lines for people, without --json. */
  readonly printed = new PrintedLines();
  /** Lines on stderr. */
  readonly logged = new PrintedLines();
  readonly ended: Promise<Ended>;
  readonly #process: Deno.ChildProcess;
  #stdout = "";
  #stderr = "";

  constructor(words: readonly string[], env: Record<string, string> = {}, options: ProcessOptions = {}) {
    const { program, entry = "cli/main.ts", ownSession = false, through = [], cwd, clearEnv = false } = options;
    const [command, ...leading] = [...through, ...(program === undefined ? fromCheckout(entry) : [program])];
    this.#process = new Deno.Command(command!, {
      args: [...leading, ...words],
      env,
      clearEnv,
      ...(cwd === undefined ? {} : { cwd }),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: ownSession,
    }).spawn();
    const isJson = words.includes("--json");
    this.ended = Promise.all([
      this.#process.status,
      this.#readLines(isJson),
      this.#readErrors(),
    ]).then(([{ code }]) => ({ code, stdout: this.#stdout, stderr: this.#stderr }));
  }

  get pid(): number {
    return this.#process.pid;
  }

  kill(signal: Deno.Signal): void {
    this.#process.kill(signal);
  }

  /** What a terminal does on Ctrl-C: the signal goes to the process and to all of its children. */
  interruptAll(): void {
    Deno.kill(-this.#process.pid, "SIGINT");
  }

  async #readLines(isJson: boolean): Promise<void> {
    const lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      this.#stdout += `${line}\n`;
      if (isJson) this.lines.push(JSON.parse(line) as Line);
      else this.printed.feed(`${line}\n`);
    }
    this.printed.end();
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#process.stderr.pipeThrough(new TextDecoderStream())) {
      this.#stderr += text;
      this.logged.feed(text);
    }
    this.logged.end();
  }
}

/** Runs to the end. */
/** `./lab` instead of `iota`. */
export const ofLab: ProcessOptions = { entry: "tests/lab/main.ts" };

export function iota(
  words: readonly string[],
  env: Record<string, string> = {},
  options: ProcessOptions = {},
): Promise<Ended> {
  return new IotaProcess(words, env, options).ended;
}
