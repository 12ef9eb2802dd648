/** This thread's wall clock, moved; the monotonic one stays. */

export function moveClock(aheadMs: number): void {
  const now = Date.now;
  Date.now = () => now() + aheadMs;
  globalThis.Date = new Proxy(Date, {
    construct: (Real, words: unknown[]) => Reflect.construct(Real, words.length === 0 ? [now() + aheadMs] : words),
  });
}
