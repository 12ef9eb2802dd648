/**
 * What a command line needs of the process it runs in, behind one interface so that tests can give their own.
 *
 * Owns: writing to stdout and stderr, terminal facts, interrupts, giving rights up. Invariant: a write either puts out all of the text or throws.
 * Writes block, which keeps lines whole and in order; a reader that stops reading therefore stops this process.
 */

import type { Environment, System } from "./paths.ts";
import { confine } from "./rights/confinement.ts";
import { handedOver, type HeldRights } from "./rights/rights.ts";

export type Stream = "stdout" | "stderr";
export type Interrupt = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Host {
  readonly environment: Environment;
  isTerminal(stream: Stream): boolean;
  /** Null when stdout is no terminal. */
  terminalSize(): { readonly columns: number; readonly rows: number } | null;
  write(stream: Stream, text: string): void;
  now(): Date;
  /** Calls back on each Ctrl-C, SIGTERM and end of the terminal; without a subscriber the process ends as the system does it. */
  onInterrupt(callback: (signal: Interrupt) => void): void;
  /** Calls back for an error that nobody caught. */
  onUncaught(callback: (error: unknown) => void): void;
  exit(code: number): void;
  /**
   * Gives up every right that is not among these, for good. Null: the command goes on here. Otherwise these words were run in a
   * thread that holds no more, and this is the exit code.
   */
  confine(held: HeldRights, words: readonly string[]): Promise<number> | null;
  /** What the machine's sensors say; null where nobody can read them. */
  readonly readSensors: (() => Promise<string | null>) | null;
}

export function denoHost(): Host {
  const encoder = new TextEncoder();
  return {
    environment: { system: systemOf(Deno.build.os), get: (name) => Deno.env.get(name) },
    isTerminal: (stream) => Deno[stream].isTerminal(),
    terminalSize: () => Deno.stdout.isTerminal() ? Deno.consoleSize() : null,
    write(stream, text) {
      let rest = encoder.encode(text);
      while (rest.length > 0) rest = rest.subarray(Deno[stream].writeSync(rest));
    },
    now: () => new Date(),
    onInterrupt(callback) {
      Deno.addSignalListener("SIGINT", () => callback("SIGINT"));
      if (Deno.build.os === "windows") return;
      Deno.addSignalListener("SIGTERM", () => callback("SIGTERM"));
      // Without a terminal SIGHUP keeps the meaning it was started with: `nohup` has it ignored, which a listener would undo.
      const hasTerminal = Deno.stdin.isTerminal() || Deno.stdout.isTerminal() || Deno.stderr.isTerminal();
      if (hasTerminal) Deno.addSignalListener("SIGHUP", () => callback("SIGHUP"));
    },
    onUncaught(callback) {
      globalThis.addEventListener("error", (event) => {
        event.preventDefault();
        callback(event.error);
      });
      globalThis.addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        callback(event.reason);
      });
    },
    exit: (code) => Deno.exit(code),
    confine(held, words) {
      const values = handedOver.flatMap((name) => {
        const value = Deno.env.get(name);
        return value === undefined ? [] : [[name, value] as const];
      });
      return confine({ held, words, variables: Object.fromEntries(values) });
    },
    readSensors: null,
  };
}

/** Every other Unix keeps its files as Linux does. */
function systemOf(os: typeof Deno.build.os): System {
  return os === "darwin" || os === "windows" ? os : "linux";
}
