/**
 * Tokens that a process has seen trained. A step counts once, by the highest one closed: a restarted orchestrator, or a
 * run after a rollback, trains some again.
 */
export class TrainedTokens {
  total = 0;
  #step: number | null = null;

  /** The highest step closed; null: none. */
  get step(): number | null {
    return this.#step;
  }

  note({ step, tokens }: { step: number; tokens: number }): void {
    if (this.#step !== null && step <= this.#step) return;
    this.#step = step;
    this.total += tokens;
  }
}
