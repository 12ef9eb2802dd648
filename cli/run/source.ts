/**
 * A stage's parameters as a round begins with them: grown from the seed, or fetched and checked by hash.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { BlobRef } from "../../core/ids.ts";
import { initialParameters } from "../../core/model/initial.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import type { ParameterSource, Peer } from "../../core/protocol/message.ts";
import { BlobError } from "../../net/blobs.ts";
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
  readonly peers?: readonly Peer[]; // that may have it
  readonly parametersOnly?: boolean; // for those who take no outer step
}

export async function loadSource(options: SourceOptions): Promise<StageVectors> {
  const { config, table, source, blobs, peers = [], parametersOnly = false } = options;
  const keepsMomentum = config.outer.momentum > 0 && !parametersOnly;
  if (source.type === "initial") {
    const parameters = initialParameters(table, config.seed);
    return { parameters, momentum: keepsMomentum ? new Float32Array(table.length) : null };
  }
  const { length } = table;
  const parameters = await fetchVector(blobs, { ref: source.parameters, peers, length });
  if (!keepsMomentum) return { parameters, momentum: null };
  const momentum = source.momentum === null
    ? new Float32Array(length)
    : await fetchVector(blobs, { ref: source.momentum, peers, length });
  return { parameters, momentum };
}

async function fetchVector(
  blobs: BlobAccess,
  { ref, peers, length }: { ref: BlobRef; peers: readonly Peer[]; length: number },
): Promise<Float32Array> {
  const values = floatsOf(await blobs.get(ref, peers));
  if (values.length === length) return values;
  const detail = `Cannot load a stage as its vector must have ${length} floats: current value is ${values.length}`;
  throw new BlobError("wrongHash", detail); // whoever named it lied
}
