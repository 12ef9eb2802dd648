/**
 * Forwards whose activations are kept until their backward, as memory allows, and a spare pass. A forward without a
 * free pass runs in the spare, so the oldest stay: their backward comes first. A backward without its pass computes the
 * forward again in the spare.
 */

export class KeptPasses<Pass> {
  readonly spare: Pass;
  readonly #free: Pass[];
  readonly #all: readonly Pass[];
  readonly #taken = new Map<string, Pass>();
  #inSpare: string | null = null; // the spare's last forward

  constructor(spare: Pass, passes: readonly Pass[]) {
    this.spare = spare;
    this.#all = passes;
    this.#free = [...passes];
  }

  keep(name: string | undefined): Pass {
    const pass = name === undefined || this.#taken.has(name) ? undefined : this.#free.pop();
    if (name !== undefined && pass !== undefined) this.#taken.set(name, pass);
    else this.#inSpare = name ?? null;
    return pass ?? this.spare;
  }

  /** Null: the activations are gone. */
  take(name: string | undefined): Pass | null {
    const pass = name === undefined ? undefined : this.#taken.get(name);
    if (name === undefined || pass === undefined) {
      const isInSpare = name !== undefined && this.#inSpare === name;
      this.#inSpare = null;
      return isInSpare ? this.spare : null;
    }
    this.#taken.delete(name);
    this.#free.push(pass);
    return pass;
  }

  forget(): void {
    this.#inSpare = null;
    this.#taken.clear();
    this.#free.splice(0, this.#free.length, ...this.#all);
  }
}
