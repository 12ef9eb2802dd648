/**
 * How long a node waits for an orchestrator that is unreachable or does not admit it yet.
 *
 * The first failure and new reasons are logged at once, later ones at growing intervals; if reasons keep changing, the
 * first `changesAtOnce`, then one every `leastMs`.
 */

export interface Waiting {
  readonly reason: string;
  readonly waitedMs: number;
}

const leastMs = 15_000;
const changesAtOnce = 8; // until a reason lasts
const longestMs = 15 * 60_000;

export class HubWait {
  readonly #giveUpAfterMs: number | null;
  #sinceMs: number;
  #saidMs: number | null = null;
  #reason = "";
  #changes = 0; // logged at once since a reason lasted

  /** `giveUpAfterMs` null: never. Times are monotonic. */
  constructor({ giveUpAfterMs, nowMs }: { giveUpAfterMs: number | null; nowMs: number }) {
    this.#giveUpAfterMs = giveUpAfterMs;
    this.#sinceMs = nowMs;
  }

  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#saidMs = null;
  }

  /** `leftMs`: until the node gives up; null: never. */
  failed(reason: string, nowMs: number): { waiting: Waiting; isWorthSaying: boolean; leftMs: number | null } {
    const waitedMs = nowMs - this.#sinceMs;
    const leftMs = this.#giveUpAfterMs === null ? null : Math.max(0, this.#giveUpAfterMs - waitedMs);
    const isWorthSaying = this.#saidMs === null || nowMs - this.#saidMs >= this.#quietMs(reason);
    if (isWorthSaying) {
      this.#changes = reason === this.#reason ? 0 : this.#changes + 1;
      this.#saidMs = nowMs;
      this.#reason = reason;
    }
    return { waiting: { reason, waitedMs }, isWorthSaying, leftMs };
  }

  #quietMs(reason: string): number {
    if (reason !== this.#reason) return this.#changes < changesAtOnce ? 0 : leastMs;
    return Math.min(longestMs, Math.max(leastMs, (this.#saidMs ?? 0) - this.#sinceMs));
  }
}
