/**
 * A stage's parameters as a round begins with them: grown from the seed, or fetched and checked by hash.
 */

import { assert } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { initialParameters } from "../../core/model/initial.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import type { ParameterSource } from "../../core/protocol/message.ts";
import { type BlobAccess, floatsOf } from "./blob_access.ts";

export interface StageVectors {
  readonly parameters: Float32Array;
  readonly momentum: Float32Array | null; // of the outer optimizer; null: none is kept
}

export interface SourceOptions {
  readonly config: RunConfig;
  readonly table: ParameterTable;
  readonly source: ParameterSource;
  readonly blobs: BlobAccess;
}

export async function loadSource({ config, table, source, blobs }: SourceOptions): Promise<StageVectors> {
  const keepsMomentum = config.outer.momentum > 0;
  if (source.type === "initial") {
    const parameters = initialParameters(table, config.seed);
    return { parameters, momentum: keepsMomentum ? new Float32Array(table.length) : null };
  }
  const parameters = await fetchVector(blobs, source.parameters, table.length);
  if (!keepsMomentum) return { parameters, momentum: null };
  const momentum = source.momentum === null
    ? new Float32Array(table.length)
    : await fetchVector(blobs, source.momentum, table.length);
  return { parameters, momentum };
}

async function fetchVector(
  blobs: BlobAccess,
  ref: Parameters<BlobAccess["get"]>[0],
  length: number,
): Promise<Float32Array> {
  const values = floatsOf(await blobs.get(ref));
  assert(
    values.length === length,
    `Cannot load a stage as its vector must have ${length} floats: current value is ${values.length}`,
  );
  return values;
}
