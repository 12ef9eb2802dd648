/**
 * Leaves the run while its rules say so and later rejoins with the same identity; rejoins at once after losing its
 * stage with its device, or when its orchestrator has begun another run. The device stays open; its memory is freed in
 * between.
 */

import { running, type Verdict } from "./idle/rules.ts";
import { type RunningNode, type RunningRole, stageLostReason } from "./miner_role.ts";
import { newRunReason } from "./node_role.ts";
import type { Finished } from "./node_runtime.ts";

export interface PauseGate {
  readonly verdict: Verdict;
  onChange(listener: (verdict: Verdict) => void): void;
}

export const alwaysOpen: PauseGate = { verdict: running, onChange: () => {} };

interface PausingOptions {
  readonly gate: PauseGate;
  readonly start: () => Promise<RunningNode>;
  readonly onPaused: (pause: { cause: string; reason: string }) => void;
  readonly onResumed: () => void;
}

export class PausingRole implements RunningRole {
  readonly finished: Promise<Finished>;
  readonly #options: PausingOptions;
  #role: RunningNode | null = null;
  #stopReason: string | null = null;
  #wasPaused = false;
  #wake: () => void = () => {};

  constructor(options: PausingOptions) {
    this.#options = options;
    this.#tell(options.gate.verdict);
    options.gate.onChange((verdict) => this.#onVerdict(verdict));
    this.finished = this.#live();
  }

  get isResting(): boolean {
    return this.#role === null;
  }

  stop(reason: string): void {
    this.#stopReason ??= reason;
    this.#role?.stop(reason);
    this.#wake();
  }

  async #live(): Promise<Finished> {
    for (;;) {
      while (!this.#options.gate.verdict.runs && this.#stopReason === null) {
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
      if (this.#stopReason !== null) return { finished: false, reason: this.#stopReason };
      const role = await this.#options.start();
      this.#role = role;
      this.#stopIfDue();
      const end = await role.finished;
      this.#role = null;
      if (end.finished || this.#stopReason !== null || !passing.has(end.reason)) return end;
      role.close();
    }
  }

  #onVerdict(verdict: Verdict): void {
    this.#tell(verdict);
    this.#stopIfDue();
    this.#wake();
  }

  #stopIfDue(): void {
    if (this.#stopReason !== null) this.#role?.stop(this.#stopReason);
    else if (!this.#options.gate.verdict.runs) this.#role?.stop(pausedReason);
  }

  #tell(verdict: Verdict): void {
    if (this.#stopReason !== null) return;
    if (!verdict.runs) this.#options.onPaused(verdict);
    else if (this.#wasPaused) this.#options.onResumed();
    this.#wasPaused = !verdict.runs;
  }
}

const pausedReason = "its own rules tell it to pause";

const passing: ReadonlySet<string> = new Set([pausedReason, stageLostReason, newRunReason]);
