/**
 * What a command line needs from its process; tests supply their own. A write either outputs all of the text or throws.
 * Writes block, which keeps lines whole and in order.
 */

import { askKeyboard, type KeyboardListener, keyboardVariable, openKeyboard } from "../program/keyboard.ts";
import type { Environment, System } from "../program/paths.ts";
import { confine } from "./confinement.ts";
import { handedOver, type HeldRights, heldWith } from "./rights.ts";

export type Stream = "stdout" | "stderr";
export type Interrupt = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Host {
  readonly environment: Environment;
  isTerminal(stream: Stream): boolean;
  terminalSize(): { readonly columns: number; readonly rows: number } | null;
  write(stream: Stream, text: string): void;
  now(): Date;
  /** Without a subscriber the system's default ends the process. */
  onInterrupt(callback: (signal: Interrupt) => void): void;
  /** Null: nobody can type here. */
  openKeys(listener: KeyboardListener): (() => void) | null;
  onUncaught(callback: (error: unknown) => void): void;
  exit(code: number): void;
  /** As in confinement.ts. */
  confine(held: HeldRights, words: readonly string[]): Promise<number> | null;
  readonly readSensors: (() => Promise<string | null>) | null;
}

interface HostOptions {
  readonly taken: Readonly<Record<string, string>>; // variables, in place of the environment's
  readonly confined: URL | null; // code of a confined command's thread; null: commands keep this thread's rights
}

export function denoHost({ taken, confined: code }: HostOptions): Host {
  const encoder = new TextEncoder();
  let hasKeyboard = false; // asked while programs may be started
  const hasNohup = taken[nohupVariable] !== undefined;
  const get = (name: string) => taken[name] ?? Deno.env.get(name);
  return {
    environment: { system: systemOf(Deno.build.os), get },
    isTerminal: (stream) => Deno[stream].isTerminal(),
    terminalSize: () => {
      const size = Deno.stdout.isTerminal() ? Deno.consoleSize() : null;
      return size === null || size.columns === 0 ? null : size; // 0: a terminal that was never told its size
    },
    write(stream, text) {
      let rest = encoder.encode(text);
      while (rest.length > 0) rest = rest.subarray(Deno[stream].writeSync(rest));
    },
    now: () => new Date(),
    onInterrupt(callback) {
      Deno.addSignalListener("SIGINT", () => callback("SIGINT"));
      if (Deno.build.os === "windows") return;
      Deno.addSignalListener("SIGTERM", () => callback("SIGTERM"));
      Deno.addSignalListener("SIGHUP", () => {
        if (!hasNohup) callback("SIGHUP"); // with any listener, Deno itself ends on a SIGHUP that nobody listens to
      });
    },
    openKeys: (listener) => hasKeyboard ? openKeyboard(listener) : null,
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
      if (code === null) return null;
      const values = handedOver.flatMap((name) => {
        const value = get(name);
        return value === undefined ? [] : [[name, value] as const];
      });
      hasKeyboard = askKeyboard();
      const asked = { [keyboardVariable]: hasKeyboard, [nohupVariable]: hasNohup };
      const found = Object.entries(asked).filter(([, is]) => is).map(([name]) => [name, "yes"] as const);
      const variables = Object.fromEntries([...values, ...found]);
      return confine({ held: heldWith(Object.keys(Deno.env.toObject()), held), words, variables, code });
    },
    readSensors: null,
  };
}

/** Every other Unix uses the same paths as Linux. */
function systemOf(os: typeof Deno.build.os): System {
  return os === "darwin" || os === "windows" ? os : "linux";
}

/** Whether this process was started to outlive its terminal: `nohup` has SIGHUP ignored. */
const nohupVariable = "IOTA_NOHUP"; // "yes" or "no"; children inherit it as they do what is ignored

export function nohupVariables(): Record<string, string> {
  const told = Deno.env.get(nohupVariable);
  return (told === undefined ? askNohup() : told === "yes") ? { [nohupVariable]: "yes" } : {};
}

function askNohup(): boolean {
  if (Deno.build.os === "windows") return false; // it has no such signal
  try {
    const asked = new Deno.Command("/bin/sh", { args: ["-c", "kill -HUP $$"], clearEnv: true, stderr: "null" });
    return asked.outputSync().code === 0;
  } catch {
    return false;
  }
}
