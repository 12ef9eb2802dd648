/**
 * What a merge payload codec owns: how a slice of the pseudo-gradient becomes bytes, how long these may be, what the hub looks
 * at in a stranger's, how several are averaged, and what a miner keeps because its payload left something out.
 *
 * Two forms of bytes: a *payload* slice, made by one contributor, and a *result* slice, made by the reducers and read by every
 * replica. They may differ: the mean of sparse payloads is denser than each of them.
 * Invariants of every codec: the same bytes from the same inputs on every machine; `average` sums in the given order in float64
 * and rounds once; result bytes tell how many values they stand for, as a replica that applies them knows no layout;
 * bytes that cannot be read are answered with a value and never with an exception.
 * Out of scope: the codec of wires (`core/codec`); how far an honest payload reaches (`core/orchestrator/merge/payload_check.ts`).
 */

import type { Parsed } from "../../fault.ts";
import type { LongWork } from "../../long_work.ts";
import type { PayloadStats } from "../payload_stats.ts";

/** How many bytes a slice may have. */
export interface ByteBounds {
  readonly least: number;
  readonly most: number;
}

export interface EncodeInput {
  readonly values: Float32Array; // of the slice; the codec may overwrite it, and its bytes may be this memory
  /** The slice of the miner's residual: on entry what its earlier payloads left out, on return what they and this one leave out. */
  readonly residual: Float32Array | null; // null: the codec keeps none
}

export interface WeightedSlice {
  readonly payload: Uint8Array;
  readonly weight: number; // in any unit
  readonly scale: number; // at most 1: of a payload much longer than its peers
}

export interface PayloadCodec {
  readonly name: string; // as the run's configuration would have it
  readonly version: number; // of its bytes; any change of them needs a new one

  /** Of a payload's slice of so many values. */
  payloadBytes(values: number): ByteBounds;
  /** Of a reduced slice of so many values. */
  resultBytes(values: number): ByteBounds;
  /** Cutting a vector makes its bytes longer by at most this for each cut. */
  readonly bytesPerCut: number;
  /** Whether a payload slice is by itself the result of a merge without any other payload. */
  readonly isOwnAverage: boolean;

  /** Error feedback: a miner keeps one float for each value of its stage, zero when it loads the stage anew. */
  readonly keepsResidual: boolean;
  /** How many rounds' worth of steps one value of an honest payload may hold; 1 without a residual. */
  readonly mostRounds: number;

  encode(input: EncodeInput): LongWork<Uint8Array>;
  /** A stranger's payload slice that should stand for so many values; `unreadable` where it does not. */
  inspect(payload: Uint8Array, values: number): LongWork<PayloadStats>;
  /** The result slice of at least one payload, in merge order. Refuses weights, lengths and values that give no mean. */
  average(inputs: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>>;
  /** Values of a result slice; null: it is none. The values may be the bytes' own memory. */
  decodeResult(result: Uint8Array): LongWork<Float32Array | null>;
}

export function isWithin({ least, most }: ByteBounds, bytes: number): boolean {
  return bytes >= least && bytes <= most;
}

/** For sentences: "256" or "12 to 256". */
export function boundsText({ least, most }: ByteBounds): string {
  return least === most ? `${most}` : `${least} to ${most}`;
}
