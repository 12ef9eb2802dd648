/**
 * The blobs of a merge without values: payloads and reduced slices of the lengths that the run's payload codec allows, a stage's
 * vectors of the length they have.
 *
 * A symbolic payload always has the most bytes its codec allows, so its length tells how many values it stands for.
 */

import { present } from "../../../../core/assert.ts";
import type { BlobHash, BlobRef, StageIndex } from "../../../../core/ids.ts";
import { alignFloats } from "../../../../core/update/butterfly.ts";
import type { PayloadCodec } from "../../../../core/update/payload/payload_codec.ts";
import { payloadCodecOf } from "../../../../core/update/payload/payload_codecs.ts";
import { vectorBytes } from "../../../../core/model/vector_bytes.ts";
import type { WeightedPayload } from "../../../../core/protocol/merge_messages.ts";
import { digest } from "../digest.ts";
import type { SwarmShape } from "../swarm_shape.ts";

/** Parameters or outer momentum of a stage. */
export function symbolicVector(
  { stageFloats }: SwarmShape,
  { hash, stage }: { hash: BlobHash; stage: StageIndex },
): BlobRef {
  return { hash, bytes: vectorBytes(present(stageFloats[stage], "every stage has a length")) };
}

export function symbolicPayload(
  { config }: SwarmShape,
  { hash, values }: { hash: BlobHash; values: number },
): BlobRef {
  return { hash, bytes: payloadCodecOf(config).payloadBytes(values).most };
}

/** The weighted mean of one slice of every payload; of a single one it is the payload, to the bit, where the codec says so. */
export function reducedSlice({ config }: SwarmShape, inputs: readonly WeightedPayload[]): BlobRef {
  const codec = payloadCodecOf(config);
  const first = present(inputs[0], "a slice has a payload").payload;
  if (inputs.length === 1 && codec.isOwnAverage) return first;
  const parts = inputs.flatMap(({ payload, weight, scale }): (string | number)[] => [payload.hash, weight, scale]);
  return { hash: digest("reduced", ...parts), bytes: codec.resultBytes(valuesOf(codec, first)).most };
}

/** By halving: bytes rise with values, and slices are multiples of `alignFloats`. */
function valuesOf(codec: PayloadCodec, { bytes }: BlobRef): number {
  const bytesOf = (blocks: number) => codec.payloadBytes(blocks * alignFloats).most;
  let [fewest, most] = [1, 1];
  while (bytesOf(most) < bytes) most *= 2;
  while (fewest < most) {
    const middle = Math.floor((fewest + most) / 2);
    if (bytesOf(middle) < bytes) fewest = middle + 1;
    else most = middle;
  }
  return fewest * alignFloats;
}
