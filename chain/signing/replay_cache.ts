/**
 * Which signed requests were accepted already. Bounded: an entry lives as long as its request would still be fresh, and a full
 * cache refuses newcomers instead of forgetting, so a flood by one signer cannot open the door to replays of another.
 */

export interface ReplayCacheLimits {
  readonly keepMs: number; // at least the whole freshness window
  readonly entriesMax: number;
}

export class ReplayCache {
  readonly #limits: ReplayCacheLimits;
  readonly #expiryOf = new Map<string, number>(); // by acceptance, so the oldest come first

  constructor(limits: ReplayCacheLimits) {
    this.#limits = limits;
  }

  get keepMs(): number {
    return this.#limits.keepMs;
  }

  /** Call only after the signature was checked: strangers must not fill the cache. */
  accept(key: string, nowMs: number): "new" | "replayed" | "full" {
    for (const [old, expiryMs] of this.#expiryOf) {
      if (expiryMs > nowMs) break;
      this.#expiryOf.delete(old);
    }
    if (this.#expiryOf.has(key)) return "replayed";
    if (this.#expiryOf.size >= this.#limits.entriesMax) return "full";
    this.#expiryOf.set(key, nowMs + this.#limits.keepMs);
    return "new";
  }
}
