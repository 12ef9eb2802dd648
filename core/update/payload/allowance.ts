/**
 * The most that an honest miner may have to store at the hub: the limit for every member.
 *
 * In one round: its payload, the slices it reduces (all of its stage when few replicas are left), when it is asked to upload,
 * parameters and outer momentum, and the parameters that it shows for audits. Counted over `roundsKept` rounds, since blobs that
 * arrive too late stay until the second sweep after.
 */

import { assert } from "../../assert.ts";
import type { ValidateConfig } from "../../config/config.ts";
import { vectorBytes } from "../../model/vector_bytes.ts";
import { changeBytes } from "../shown_change.ts";
import { mostSlicesOf } from "../butterfly.ts";
import type { PayloadCodec } from "./payload_codec.ts";

const roundsKept = 2;

export interface Allowance {
  readonly blobBytes: number; // the largest blob
  readonly bytes: number; // of everything
  readonly blobs: number;
}

/** The most states that a miner is asked to show in a round, whatever the draw says. */
export function mostStates({ statesPerRound }: Pick<ValidateConfig, "statesPerRound">): number {
  return statesPerRound === 0 ? 0 : Math.ceil(2 * statesPerRound) + 2;
}

/** The allowance for a run whose stages have these numbers of floats. `states`: shown in a round at most. */
export function storeAllowance(
  stageFloats: readonly number[],
  { codec, states }: { codec: PayloadCodec; states: number },
): Allowance {
  assert(stageFloats.length > 0, "Cannot say what a miner stores as the run must have a stage");
  const floats = Math.max(...stageFloats);
  const slices = Math.max(...stageFloats.map(mostSlicesOf));
  const cutBytes = (slices - 1) * codec.bytesPerCut;
  const payloadBytes = codec.payloadBytes(floats).most + cutBytes;
  const resultBytes = codec.resultBytes(floats).most + cutBytes;
  return {
    blobBytes: Math.max(vectorBytes(floats), payloadBytes, resultBytes), // one slice is at most all of them
    bytes: roundsKept *
      (payloadBytes + resultBytes + 2 * vectorBytes(floats) + states * changeBytes(floats)),
    blobs: roundsKept * (2 * slices + 2 + states),
  };
}
