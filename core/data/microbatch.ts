/**
 * Which tokens microbatch i trains on: a pure function of the dataset, the seed and i.
 *
 * So no miner chooses its data, and an auditor can recompute any input. The stream is cut into windows of T tokens; a
 * pass visits each window once in its own order, and the next pass starts where the last one ended, even inside a
 * microbatch. Targets are shifted by one, so window w reads tokens [wT, wT + T], and the last up to T tokens of the
 * stream are never inputs.
 */

import { plural } from "../plural.ts";
import { assert } from "../assert.ts";
import type { MicrobatchId } from "../ids.ts";
import { keyOf } from "../prng.ts";
import { permute } from "./permutation.ts";

export interface MicrobatchRequest {
  readonly datasetHash: string;
  readonly seed: number; // of the run
  readonly microbatch: MicrobatchId;
  readonly sequences: number; // B
  readonly contextLength: number; // T
  readonly tokens: number; // length of the training stream
}

/** Windows one pass visits. */
export function windowsPerPass(options: { tokens: number; contextLength: number }): number {
  return Math.max(0, Math.floor((options.tokens - 1) / options.contextLength));
}

/** First token of each of the B sequences; sequence b reads tokens [position, position + T]. */
export function microbatchSequences(request: MicrobatchRequest): number[] {
  const { datasetHash, seed, microbatch, sequences, contextLength } = request;
  const windows = windowsPerPass(request);
  assert(
    windows > 0,
    `The training text has ${request.tokens} tokens, and a sequence needs more than ${contextLength}`,
  );
  return Array.from({ length: sequences }, (_, sequence) => {
    const visited = microbatch * sequences + sequence;
    const pass = Math.floor(visited / windows);
    const key = keyOf(seed, "data", datasetHash, pass);
    return permute({ key, size: windows, index: visited % windows }) * contextLength;
  });
}

/** First tokens of `sequences` windows spread evenly over a held-out stream; the same for every node, every time. */
export function heldOutSequences(options: { sequences: number; contextLength: number; tokens: number }): number[] {
  const windows = windowsPerPass(options);
  assert(
    options.sequences <= windows,
    `Cannot evaluate ${plural(options.sequences, "sequence")}: the held-out text has only ${windows} windows of ` +
      `${options.contextLength} tokens`,
  );
  return Array.from(
    { length: options.sequences },
    (_, sequence) => Math.floor((sequence * windows) / options.sequences) * options.contextLength,
  );
}
