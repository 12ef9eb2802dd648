/**
 * Everything that depends on a merge payload codec: the bytes of a slice of the pseudo-gradient and their possible
 * lengths, the orchestrator's statistics of an untrusted one, the mean of several, and the residual that a miner keeps.
 *
 * There are two forms of bytes: a *payload* slice comes from one contributor; a *result* slice comes from the reducers
 * and is read by every replica. They may differ: the mean of sparse payloads is denser than each of them. Invariants of
 * every codec: the same inputs give the same bytes on every machine; `average` gives the same bytes for any order of
 * the payloads (integer_sum.ts), except float32's, which sums in the given order in float64 and rounds once; a result
 * states how many values it holds; unreadable bytes are a return value, never an exception, and no number in them
 * decides how much memory is allocated. Out of scope: the codec of wires (`core/codec`); the bound on an honest payload
 * (`core/orchestrator/merge/payloads/payload_check.ts`).
 */

import type { OuterConfig } from "../../config/config.ts";
import type { Parsed } from "../../fault.ts";
import type { LongWork } from "../../long_work.ts";
import type { PayloadStats } from "../payload_stats.ts";

/** The least and the most bytes of a slice. */
export interface ByteBounds {
  readonly least: number;
  readonly most: number;
}

/** The values [start, end) of a slice. */
export interface ValueRange {
  readonly start: number;
  readonly end: number;
}

/** Values of matrices with a row for each token. */
export interface Embeddings {
  readonly ranges: readonly ValueRange[]; // of the slice, ascending
  readonly share: number; // of the whole stage's values
}

export interface EncodeInput {
  readonly values: Float32Array; // of the slice; the codec may overwrite it and return its memory as bytes
  /** The slice of the miner's residual. On entry: what earlier payloads left out. On return: what this one left out. */
  readonly residual: Float32Array | null; // null if the codec keeps none
  readonly embeddings: Embeddings;
}

export interface WeightedSlice {
  readonly payload: Uint8Array;
  readonly weight: number; // in any unit
  readonly scale: number; // at most 1; less for a payload much longer than its peers
}

export interface PayloadCodec {
  readonly name: string; // its key in the table
  readonly version: number; // of its bytes; changed bytes need a new one

  /** The codec with a run's settings; absent if it has none. */
  tuned?(settings: OuterConfig): PayloadCodec;

  /** Size limits of a payload slice of this many values. */
  payloadBytes(values: number): ByteBounds;
  /** Size limits of a result slice of this many values. */
  resultBytes(values: number): ByteBounds;
  /** Each cut of a vector adds at most this many bytes. */
  readonly bytesPerCut: number;
  /** Whether a payload slice is also the result slice of a merge without other payloads. */
  readonly isOwnAverage: boolean;

  /** Error feedback: a miner keeps a residual of one float for each value of its stage, zero when it loads the stage anew. */
  readonly keepsResidual: boolean;
  /** One value of an honest payload moves at most as far as this many rounds' steps; 1 without a residual. */
  readonly mostRounds: number;

  encode(input: EncodeInput): LongWork<Uint8Array>;
  /** Statistics of an untrusted payload slice; `unreadable` unless it holds exactly this many values. */
  inspect(payload: Uint8Array, values: number): LongWork<PayloadStats>;
  /** The result slice of one or more payloads, in merge order. Rejects: weights, lengths and values without a mean. */
  average(inputs: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>>;
  /** The values of a result slice, possibly in the bytes' own memory; null if the bytes are not a result slice of at most `most`. */
  decodeResult(result: Uint8Array, most: number): LongWork<Float32Array | null>;
}

export function isWithin({ least, most }: ByteBounds, bytes: number): boolean {
  return bytes >= least && bytes <= most;
}

/** For sentences: "256" or "12 to 256". */
export function boundsText({ least, most }: ByteBounds): string {
  return least === most ? `${most}` : `${least} to ${most}`;
}
