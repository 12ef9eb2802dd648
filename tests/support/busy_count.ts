/** Counts work in progress outside promises, such as disk operations, so that a test moves time only when all of it is done. */

export class BusyCount {
  #busy = 0;
  #whenIdle: (() => void)[] = [];

  get isIdle(): boolean {
    return this.#busy === 0;
  }

  async during<T>(work: () => T | Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      if (this.#busy === 0) { for (const resolve of this.#whenIdle.splice(0)) resolve(); }
    }
  }

  /** At once when nothing is under way. */
  idle(): Promise<void> {
    return this.#busy === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenIdle.push(resolve));
  }
}
