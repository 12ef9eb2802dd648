/** Why the run stands still: it goes on when no reason is left. */

export type HoldReason = "disk" | "owner";

export class Holds {
  readonly #driver: { hold(): void; resume(): void };
  readonly #reasons = new Set<HoldReason>();

  constructor(driver: { hold(): void; resume(): void }) {
    this.#driver = driver;
  }

  hold(reason: HoldReason): void {
    const isFirst = this.#reasons.size === 0;
    this.#reasons.add(reason);
    if (isFirst) this.#driver.hold();
  }

  release(reason: HoldReason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#driver.resume();
  }
}
