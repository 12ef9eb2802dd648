/**
 * A stage's parameters at a round's start: generated from the seed, or fetched and checked by hash. A large stage takes
 * minutes, so this works in turns (net/turns.ts), and holds each vector once.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import type { BlobRef } from "../../../core/ids.ts";
import { fillInitial } from "../../../core/model/initial.ts";
import type { ParameterTable } from "../../../core/model/spec.ts";
import { floatsOf, vectorBytes } from "../../../core/model/vector_bytes.ts";
import type { LoadingPart, ParameterSource, Peer } from "../../../core/protocol/message.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { inTurns } from "../../../net/turns.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";

export interface StageVectors {
  readonly parameters: Float32Array;
  readonly momentum: Float32Array | null; // null: not kept
}

export type OnLoading = (part: LoadingPart, bytes: { done: number; total: number }) => void;

interface SourceOptions {
  readonly config: RunConfig;
  readonly table: ParameterTable;
  readonly source: ParameterSource;
  readonly blobs: BlobAccess;
  readonly peers?: readonly Peer[];
  readonly parametersOnly?: boolean; // for roles that take no outer step
  readonly onLoading?: OnLoading;
}

const valuesOfTurn = 2 ** 18; // 10 ms

export async function loadSource(options: SourceOptions): Promise<StageVectors> {
  const { config, table, source, parametersOnly = false } = options;
  const keepsMomentum = config.outer.momentum > 0 && !parametersOnly;
  if (source.type === "initial") {
    const parameters = await growParameters(options);
    return { parameters, momentum: keepsMomentum ? new Float32Array(table.length) : null };
  }
  const momentumRef = keepsMomentum ? source.momentum : null;
  const total = source.parameters.bytes + (momentumRef?.bytes ?? 0);
  const parameters = await fetchVector(options, { ref: source.parameters, before: 0, total });
  if (!keepsMomentum) return { parameters, momentum: null };
  const momentum = momentumRef === null
    ? new Float32Array(table.length)
    : await fetchVector(options, { ref: momentumRef, before: source.parameters.bytes, total });
  return { parameters, momentum };
}

async function growParameters({ config, table, onLoading }: SourceOptions): Promise<Float32Array> {
  const parameters = new Float32Array(table.length);
  const total = parameters.byteLength;
  await inTurns({
    total: table.length,
    unit: valuesOfTurn,
    onProgress: (count) => onLoading?.("making", { done: vectorBytes(count), total }),
  }, (start, end) => fillInitial(table, { seed: config.seed, first: start }, parameters.subarray(start, end)));
  return parameters;
}

async function fetchVector(
  { blobs, table, peers = [], onLoading }: SourceOptions,
  { ref, before, total }: { ref: BlobRef; before: number; total: number },
): Promise<Float32Array> {
  const bytes = vectorBytes(table.length);
  if (ref.bytes === bytes) {
    const onBytes = (done: number) => onLoading?.("fetching", { done: before + done, total });
    return floatsOf(await blobs.get(ref, onLoading === undefined ? { peers } : { peers, onBytes }));
  }
  const detail = `Cannot load a stage: its vector must have ${bytes} bytes, but has ${ref.bytes}`;
  throw new BlobError("wrongHash", detail); // the node that named it lied
}
