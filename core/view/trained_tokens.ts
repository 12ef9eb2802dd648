/** Tokens that a process has seen trained. Steps repeated after a restart or a rollback count once. */
export class TrainedTokens {
  total = 0;
  #step: number | null = null;

  /** Highest closed step; null: none. */
  get step(): number | null {
    return this.#step;
  }

  note({ step, tokens }: { step: number; tokens: number }): void {
    if (this.#step !== null && step <= this.#step) return;
    this.#step = step;
    this.total += tokens;
  }
}
