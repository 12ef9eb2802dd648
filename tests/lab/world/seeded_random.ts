/** Random numbers of a lab, by its seed. Nothing that they protect leaves the process. */

import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";
import type { Random } from "../../../net/timers.ts";

export function seededRandom(seed: number, ...labels: readonly (string | number)[]): Random {
  const stream = openStream(keyOf(seed, "lab", ...labels));
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => nextUint32(stream) >>> 24),
    unit: () => nextUint32(stream) / 2 ** 32,
  };
}
