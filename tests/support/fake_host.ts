/** A fake process: a command's output is kept; the test sets the terminal and the environment. */

import type { Host, Interrupt, Stream } from "../../cli/rights/host.ts";
import type { KeyboardListener } from "../../cli/program/keyboard.ts";
import type { HeldRights } from "../../cli/rights/rights.ts";

export interface FakeHostOptions {
  readonly env?: Record<string, string>;
  readonly terminal?: { columns: number; rows: number };
  readonly now?: () => Date;
}

export class FakeHost implements Host {
  readonly environment: Host["environment"];
  readonly written: Record<Stream, string> = { stdout: "", stderr: "" };
  readonly exits: number[] = [];
  readerGone = false;
  isFull = false; // the disk behind stdout
  hasKeyboard = false;
  keyboard: KeyboardListener | null = null; // while keys are read
  #terminal: { columns: number; rows: number } | null;
  readonly #now: () => Date;
  readonly readSensors = null;
  readonly held: HeldRights[] = []; // what was left to each command
  #interrupted: (signal: Interrupt) => void = () => {};
  #uncaught: (error: unknown) => void = () => {};

  constructor({ env = {}, terminal, now = () => new Date(2026, 10, 21, 14, 3, 7) }: FakeHostOptions = {}) {
    this.environment = { system: "linux", get: (name) => env[name] };
    this.#terminal = terminal ?? null;
    this.#now = now;
  }

  isTerminal(): boolean {
    return this.#terminal !== null;
  }

  terminalSize(): { columns: number; rows: number } | null {
    return this.#terminal;
  }

  write(stream: Stream, text: string): void {
    if (this.readerGone && stream === "stdout") throw new Deno.errors.BrokenPipe("reader gone");
    if (this.isFull && stream === "stdout") {
      throw Object.assign(new Error("No space left on device (os error 28)"), { code: "ENOSPC" });
    }
    this.written[stream] += text;
  }

  now(): Date {
    return this.#now();
  }

  confine(held: HeldRights): null {
    this.held.push(held);
    return null;
  }

  onInterrupt(callback: (signal: Interrupt) => void): void {
    this.#interrupted = callback;
  }

  onUncaught(callback: (error: unknown) => void): void {
    this.#uncaught = callback;
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  interrupt(signal: Interrupt = "SIGINT"): void {
    this.#interrupted(signal);
  }

  openKeys(listener: KeyboardListener): (() => void) | null {
    if (!this.hasKeyboard) return null;
    this.keyboard = listener;
    return () => void (this.keyboard = null);
  }

  press(text: string): void {
    this.keyboard?.onBytes(new TextEncoder().encode(text));
  }

  throwLater(error: unknown): void {
    this.#uncaught(error);
  }

  resize(size: { columns: number; rows: number }): void {
    this.#terminal = size;
  }
}
