/**
 * The most that an honest miner may store at the orchestrator: the limit for every member.
 *
 * In one round: its payload, the slices it reduces (all of its stage if few replicas are left), parameters and outer
 * momentum if it is asked to upload, and the parameters that it opens for audits. Counted over `roundsKept` rounds,
 * because blobs that arrive late stay until the second sweep after.
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

/** The most states that a miner is asked to open in a round, whatever the draw. */
export function mostStates({ statesPerRound }: Pick<ValidateConfig, "statesPerRound">): number {
  return statesPerRound === 0 ? 0 : Math.ceil(2 * statesPerRound) + 2;
}

/** The allowance for a run whose stages have these numbers of floats. `states`: opened in a round at most. */
export function storeAllowance(
  stageFloats: readonly number[],
  { codec, states }: { codec: PayloadCodec; states: number },
): Allowance {
  assert(stageFloats.length > 0, "a run has a stage");
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
