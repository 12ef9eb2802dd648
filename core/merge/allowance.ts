/**
 * What an honest miner may have to store at the hub, so that nobody is given more room than that.
 *
 * In one round: its payload, the slices it reduces (all of its stage when few replicas are left), and when it is asked to
 * upload, parameters and outer momentum. Counted over `roundsKept` rounds, since what came too late to be used stays until the
 * second sweep after it.
 */

import { assert } from "../assert.ts";
import { vectorBytes } from "../model/vector_bytes.ts";
import { mostSlicesOf } from "./butterfly.ts";
import type { PayloadCodec } from "./payload/payload_codec.ts";

const roundsKept = 2;

export interface Allowance {
  readonly blobBytes: number; // the largest blob
  readonly bytes: number; // of everything
  readonly blobs: number;
}

/** For a run whose stages have so many floats. */
export function storeAllowance(stageFloats: readonly number[], codec: PayloadCodec): Allowance {
  assert(stageFloats.length > 0, "Cannot say what a miner stores as the run must have a stage");
  const floats = Math.max(...stageFloats);
  const slices = Math.max(...stageFloats.map(mostSlicesOf));
  const cutBytes = (slices - 1) * codec.bytesPerCut;
  const payloadBytes = codec.payloadBytes(floats).most + cutBytes;
  const resultBytes = codec.resultBytes(floats).most + cutBytes;
  return {
    blobBytes: Math.max(vectorBytes(floats), payloadBytes, resultBytes), // one slice is at most all of them
    bytes: roundsKept * (payloadBytes + resultBytes + 2 * vectorBytes(floats)),
    blobs: roundsKept * (2 * slices + 2),
  };
}
