/** Text that a toy model learns at once: each token is the one before plus a step that the sequence keeps. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { MicrobatchId } from "../../../core/ids.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import type { Batch, BatchSource } from "../../../cli/model/data/dataset.ts";

export function countingBatches(config: RunConfig): BatchSource {
  const { sequencesPerMicrobatch } = config.train;
  const make = (label: string, index: number, sequences: number): Batch => {
    const { contextLength, vocabSize } = config.model;
    const stream = openStream(keyOf(config.seed, label, index));
    const inputs = new Uint32Array(sequences * contextLength);
    const targets = new Uint32Array(sequences * contextLength);
    for (let sequence = 0; sequence < sequences; sequence++) {
      let token = nextBelow(stream, vocabSize);
      const stride = 1 + nextBelow(stream, 3);
      for (let t = 0; t < contextLength; t++) {
        inputs[sequence * contextLength + t] = token;
        token = (token + stride) % vocabSize;
        targets[sequence * contextLength + t] = token;
      }
    }
    return { inputs, targets };
  };
  return {
    windows: 1 << 20,
    heldOutWindows: 64,
    tokensOf: (microbatch: MicrobatchId) => make("train", microbatch, sequencesPerMicrobatch),
    heldOut: (sequences: number) => make("held-out", 0, sequences),
  };
}
