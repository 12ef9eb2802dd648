/**
 * Which tokens a microbatch trains on: a pure function of dataset, seed and index, so that no miner chooses its data
 * and an auditor can recompute it.
 *
 * The stream is cut into windows of T tokens. A pass visits each once in its own order; the next begins where it ended,
 * even inside a microbatch. Window w reads tokens [wT, wT + T], because targets are shifted by one.
 */

import { plural } from "../plural.ts";
import { assert } from "../assert.ts";
import type { MicrobatchId } from "../ids.ts";
import { keyOf } from "../prng.ts";
import { permute } from "./permutation.ts";

interface MicrobatchRequest {
  readonly datasetHash: string;
  readonly seed: number;
  readonly microbatch: MicrobatchId;
  readonly sequences: number; // B
  readonly contextLength: number; // T
  readonly tokens: number; // of the training stream
}

export function windowsPerPass(options: { tokens: number; contextLength: number }): number {
  return Math.max(0, Math.floor((options.tokens - 1) / options.contextLength));
}

interface Reading {
  readonly steps: number;
  readonly microbatchesPerStep: number;
  readonly sequences: number; // B
  readonly contextLength: number; // T
  readonly tokens: number; // of the training stream
}

/** How often a run's steps read all of the text. Steps that a rollback repeats read the same part again. */
export function passesOver({ steps, microbatchesPerStep, sequences, contextLength, tokens }: Reading): number {
  return steps * microbatchesPerStep * sequences / windowsPerPass({ tokens, contextLength });
}

/** Sequence b reads tokens [position, position + T]. */
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

/** Windows are spread evenly over the held-out stream, the same on every node. */
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
