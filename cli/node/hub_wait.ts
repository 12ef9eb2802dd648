/**
 * A node's patience with an orchestrator that is not there, or does not let it in yet.
 *
 * Owns: since when the node has been without a link, when a person hears of it, and when `giveUpAfterMs` is over. Refuses:
 * dialling and its back-off (net/links/node.ts). Invariants: the first failure is said at once; after that a line comes at growing
 * intervals. Another reason is said at once; where reasons keep changing, `changesAtOnce` of them are, and then one every `leastMs`. A link that breaks is no
 * failed attempt: only attempts count, and so does the time since the last link.
 */

/** Why the node has no link, and for how long already. */
export interface Waiting {
  readonly reason: string; // with what can be done about it
  readonly waitedMs: number;
}

const leastMs = 15_000;
const changesAtOnce = 8; // until a reason has lasted
const longestMs = 15 * 60_000;

export class HubWait {
  readonly #giveUpAfterMs: number | null;
  #sinceMs: number;
  #saidMs: number | null = null;
  #reason = "";
  #changes = 0; // said at once since a reason lasted

  /** `giveUpAfterMs` null: for ever. Times are those of the steady clock. */
  constructor({ giveUpAfterMs, nowMs }: { giveUpAfterMs: number | null; nowMs: number }) {
    this.#giveUpAfterMs = giveUpAfterMs;
    this.#sinceMs = nowMs;
  }

  /** The link is there, or broke just now: the next wait begins here. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#saidMs = null;
  }

  /** An attempt failed. */
  failed(reason: string, nowMs: number): { waiting: Waiting; isWorthSaying: boolean; isOver: boolean } {
    const waitedMs = nowMs - this.#sinceMs;
    const isOver = this.#giveUpAfterMs !== null && waitedMs >= this.#giveUpAfterMs;
    const isWorthSaying = this.#saidMs === null || nowMs - this.#saidMs >= this.#quietMs(reason);
    if (isWorthSaying) {
      this.#changes = reason === this.#reason ? 0 : this.#changes + 1;
      this.#saidMs = nowMs;
      this.#reason = reason;
    }
    return { waiting: { reason, waitedMs }, isWorthSaying, isOver };
  }

  /** As long again as it took to the last line. */
  #quietMs(reason: string): number {
    if (reason !== this.#reason) return this.#changes < changesAtOnce ? 0 : leastMs;
    return Math.min(longestMs, Math.max(leastMs, (this.#saidMs ?? 0) - this.#sinceMs));
  }
}
