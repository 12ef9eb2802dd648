/**
 * Resolves when everything that waits for no timer, socket or disk has run.
 *
 * An immediate comes after all promises. A message through a channel does not: Deno may deliver it among them.
 */

import { setImmediate } from "node:timers";

export function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
