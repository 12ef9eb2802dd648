/**
 * What liars of a stage commit as payloads, from the harshest view: each knows every honest payload of the round before it commits.
 *
 * Inner-product manipulation: Xie, Koyejo and Gupta, arXiv 1903.03936. A little is enough: Baruch, Baruch and Goldberg,
 * arXiv 1902.06156, with a fixed z, as theirs is 0 or less for eight payloads.
 */

import type { Stream } from "../../../core/prng.ts";
import { noiseLike } from "../payload_noise.ts";

export interface Seen {
  readonly own: Float32Array; // what it would have committed
  readonly honest: readonly Float32Array[];
  readonly stream: Stream;
}

export interface PayloadLie {
  readonly name: string;
  readonly liars: number; // of `replicas`
  payload(seen: Seen): Float32Array;
}

export const replicas = 8;
const z = 1.5; // standard deviations
const share = 0.5; // of the mean, backwards

export const payloadLies: readonly PayloadLie[] = [
  { name: "wrong sign, tripled", liars: 2, payload: ({ own }) => own.map((value) => -3 * value) },
  { name: "ten times", liars: 2, payload: ({ own }) => own.map((value) => 10 * value) },
  { name: "noise, five times as long", liars: 2, payload: ({ own, stream }) => noiseLike(own, { times: 5, stream }) },
  { name: "another's", liars: 2, payload: ({ honest: [first], own }) => first ?? own },
  { name: "nearly nothing", liars: 2, payload: ({ own }) => own.map((value) => 1e-6 * value) },
  { name: "IPM", liars: 1, payload: ({ honest }) => momentsOf(honest).mean.map((value) => -share * value) },
  { name: "ALIE", liars: 1, payload: ({ honest }) => littleIsEnough(honest) },
  { name: "IPM, two", liars: 2, payload: ({ honest }) => momentsOf(honest).mean.map((value) => -share * value) },
  { name: "ALIE, two", liars: 2, payload: ({ honest }) => littleIsEnough(honest) },
];

function littleIsEnough(honest: readonly Float32Array[]): Float32Array {
  const { mean, deviation } = momentsOf(honest);
  return mean.map((value, i) => value - z * Math.sign(value) * deviation[i]!);
}

/** By coordinate. */
function momentsOf(payloads: readonly Float32Array[]): { mean: Float32Array; deviation: Float32Array } {
  const { length = 0 } = payloads[0] ?? {};
  const [mean, deviation] = [new Float32Array(length), new Float32Array(length)];
  for (let i = 0; i < length; i++) {
    let sum = 0, squares = 0;
    for (const payload of payloads) {
      sum += payload[i]!;
      squares += payload[i]! ** 2;
    }
    mean[i] = sum / payloads.length;
    deviation[i] = Math.sqrt(Math.max(0, squares / payloads.length - mean[i]! ** 2));
  }
  return { mean, deviation };
}
