/**
 * The most that an honest miner stores at the orchestrator, and so every member's limit: payload, reduced slices,
 * parameters and outer momentum, opened parameters. Late blobs stay until the second sweep, hence `roundsKept`.
 */

import { assert } from "../../assert.ts";
import type { ValidateConfig } from "../../config/config.ts";
import { vectorBytes } from "../../model/vector_bytes.ts";
import { changeBytes } from "../shown_change.ts";
import { mostSlicesOf } from "../butterfly.ts";
import type { PayloadCodec } from "./payload_codec.ts";

const roundsKept = 2;

export interface Allowance {
  readonly blobBytes: number; // largest blob
  readonly bytes: number; // of all
  readonly blobs: number;
}

/** Opened parameters per round, whatever the draw. */
export function mostStates({ statesPerRound }: Pick<ValidateConfig, "statesPerRound">): number {
  return statesPerRound === 0 ? 0 : Math.ceil(2 * statesPerRound) + 2;
}

/** `states`: most openings in a round. */
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
    blobBytes: Math.max(vectorBytes(floats), payloadBytes, resultBytes), // one slice may be all
    bytes: roundsKept *
      (payloadBytes + resultBytes + 2 * vectorBytes(floats) + states * changeBytes(floats)),
    blobs: roundsKept * (2 * slices + 2 + states),
  };
}
