/** Noise in a payload's place: what a replica that has computed nothing may commit. */

import { nextUint32, type Stream } from "../../core/prng.ts";

/** Uniform around zero, `times` as long as the payload on average. */
export function noiseLike(own: Float32Array, { times, stream }: { times: number; stream: Stream }): Float32Array {
  const scale = times * Math.sqrt(12 * own.reduce((sum, value) => sum + value ** 2, 0) / own.length);
  return own.map(() => scale * (nextUint32(stream) / 2 ** 32 - 0.5));
}
