/**
 * Everything that depends on a merge payload codec. A *payload* slice of the pseudo-gradient comes from one
 * contributor; a *result* slice, the mean, is read by every replica.
 *
 * A codec gives the same bytes on every machine, and `average` for any order of payloads (integer_sum.ts); only float32
 * sums in the given order. Unreadable bytes are a return value, and no number in them decides how much memory is
 * allocated.
 */

import type { OuterConfig } from "../../config/config.ts";
import type { Parsed } from "../../fault.ts";
import type { LongWork } from "../../long_work.ts";
import type { PayloadStats } from "../payload_stats.ts";

export interface ByteBounds {
  readonly least: number;
  readonly most: number;
}

export interface ValueRange {
  readonly start: number;
  readonly end: number;
}

/** Matrices with a row for each token. */
export interface Embeddings {
  readonly ranges: readonly ValueRange[]; // ascending
  readonly share: number; // of the stage's values
}

export interface EncodeInput {
  readonly values: Float32Array; // the codec may overwrite it and return its memory
  /** On entry what earlier payloads left out, on return what this one did; null if the codec keeps none. */
  readonly residual: Float32Array | null;
  readonly embeddings: Embeddings;
}

export interface WeightedSlice {
  readonly payload: Uint8Array;
  readonly weight: number; // any unit
  readonly scale: number; // at most 1; less for a payload much longer than others
}

export interface PayloadCodec {
  readonly name: string;
  readonly version: number; // of its bytes

  /** The codec with a run's settings. */
  tuned?(settings: OuterConfig): PayloadCodec;

  payloadBytes(values: number): ByteBounds;
  resultBytes(values: number): ByteBounds;
  /** Most bytes that a cut of a vector adds. */
  readonly bytesPerCut: number;
  /** A payload alone is also the result of its merge. */
  readonly isOwnAverage: boolean;

  /** Error feedback: the miner keeps a float per value of its stage, zero when it loads the stage anew. */
  readonly keepsResidual: boolean;
  /** Bounds a value of an honest payload, in steps of a round; 1 without a residual. */
  readonly mostRounds: number;

  encode(input: EncodeInput): LongWork<Uint8Array>;
  /** `unreadable` unless the untrusted slice holds exactly this many values. */
  inspect(payload: Uint8Array, values: number): LongWork<PayloadStats>;
  /** `inputs`: one or more, in merge order. Refuses weights, lengths and values without a mean. */
  average(inputs: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>>;
  /** May share the bytes' memory; null: not a result slice of at most `most` values. */
  decodeResult(result: Uint8Array, most: number): LongWork<Float32Array | null>;
}

export function isWithin({ least, most }: ByteBounds, bytes: number): boolean {
  return bytes >= least && bytes <= most;
}

/** "256" or "12 to 256". */
export function boundsText({ least, most }: ByteBounds): string {
  return least === most ? `${most}` : `${least} to ${most}`;
}
