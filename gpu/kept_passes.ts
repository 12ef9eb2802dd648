/**
 * Forwards whose activations are kept until their backward: as many dedicated passes as a memory budget allows, and one spare
 * for everything else.
 *
 * Owns which forward has which pass. A forward that finds none free is not kept, so the oldest, whose backward comes first,
 * stay. A caller that asks for a pass that is not kept computes the forward again.
 */

export class KeptPasses<Pass> {
  readonly spare: Pass;
  readonly #free: Pass[];
  readonly #all: readonly Pass[];
  readonly #taken = new Map<string, Pass>();

  constructor(spare: Pass, passes: readonly Pass[]) {
    this.spare = spare;
    this.#all = passes;
    this.#free = [...passes];
  }

  /** For a forward: the pass to run it in. */
  keep(name: string | undefined): Pass {
    if (name === undefined || this.#taken.has(name)) return this.spare;
    const pass = this.#free.pop();
    if (pass === undefined) return this.spare;
    this.#taken.set(name, pass);
    return pass;
  }

  /** For its backward: the pass that still has its activations, now free again; null if there is none. */
  take(name: string | undefined): Pass | null {
    const pass = name === undefined ? undefined : this.#taken.get(name);
    if (name === undefined || pass === undefined) return null;
    this.#taken.delete(name);
    this.#free.push(pass);
    return pass;
  }

  /** The parameters have changed: all kept activations are invalid. */
  forget(): void {
    this.#taken.clear();
    this.#free.splice(0, this.#free.length, ...this.#all);
  }
}
