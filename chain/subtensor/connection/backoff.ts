/**
 * The wait before the next connection: exponential, jittered, longer for a node that answers "too many requests".
 *
 * Owns: the arithmetic. Invariant: a pure function of its arguments. The jitter keeps the clients of an endpoint that
 * went down from all reconnecting in the same second. A private node counts no requests and work waits for it, so it is
 * retried within seconds.
 */

const firstMs = 500;
const mostMs = 60_000;
const ownMostMs = 4_000;
const rateLimitedMs = 15_000; // public endpoints count requests per minute

export interface Reconnect {
  readonly failures: number;
  readonly isPublic: boolean;
  readonly isRateLimited: boolean;
  readonly dice: number;
}

/**
 * `failures`: connections lost or refused since one lasted; `dice` in [0, 1). The result is in the upper half of the
 * range.
 */
export function reconnectDelayMs({ failures, isPublic, isRateLimited, dice }: Reconnect): number {
  const doubled = Math.min(isPublic ? mostMs : ownMostMs, firstMs * 2 ** Math.max(0, failures - 1));
  const rangeMs = isRateLimited ? Math.max(rateLimitedMs, doubled) : doubled;
  return rangeMs * (0.5 + dice / 2);
}
