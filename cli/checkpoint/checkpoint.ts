/**
 * Checkpoints of a run: `round-000012/` with one safetensors file a stage, optional outer momentum, and a manifest.
 *
 * Invariant: a folder is a checkpoint if and only if it has a manifest whose files verify. Writing removes an old manifest
 * first and adds the new one last, removing starts with the manifest, so a kill at any point leaves either a whole
 * checkpoint or a folder that `latestCheckpoint` passes over.
 */

import { assert } from "../../core/assert.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import { type Disk, isFile, isFolder, realDisk, writeAtomically } from "../data/disk.ts";
import { attempting } from "../errors.ts";
import { type FileEntry, firstProblem, writeEntry } from "../data/file_entry.ts";
import { sha256Hex } from "../data/sha256.ts";
import {
  CheckpointError,
  checkpointFormat,
  type CheckpointManifest,
  manifestName,
  momentumFileName,
  readManifest,
  stageFileName,
} from "./manifest.ts";
import { bytesOf, formatSafetensors, SafetensorsFile, type TensorData } from "./safetensors.ts";

/** One stage's vectors, laid out as its table says. */
export interface StageVectors {
  readonly table: ParameterTable;
  readonly parameters: Float32Array;
  readonly momentum?: Float32Array; // of the outer optimizer; all stages have it or none
}

/** What the manifest says of the run, beside the files. */
export type CheckpointState = Omit<CheckpointManifest, "format" | "parameterHashes" | "momentumHashes" | "files">;

export interface StageRequest {
  readonly folder: string; // of one checkpoint
  readonly stage: number;
  readonly table: ParameterTable;
}

export interface FoundCheckpoint {
  readonly folder: string;
  readonly manifest: CheckpointManifest;
}

const folderPattern = /^round-\d{6,}$/;

export function checkpointName(round: number): string {
  return `round-${String(round).padStart(6, "0")}`;
}

/**
 * Writes one checkpoint below `folder` (`runs/demo/checkpoints`) and returns its own folder. Stages are taken one by one, so
 * a large model need not be in memory at once.
 */
export async function writeCheckpoint(options: {
  folder: string;
  state: CheckpointState;
  stages: Iterable<StageVectors> | AsyncIterable<StageVectors>; // in order
  disk?: Disk;
}): Promise<string> {
  const { state, disk = realDisk } = options;
  const folder = `${options.folder}/${checkpointName(state.round)}`;
  await disk.createFolder(folder);
  await disk.remove(`${folder}/${manifestName}`);
  await disk.syncFolder(folder);
  const files: FileEntry[] = [];
  const parameterHashes: string[] = [];
  const momentumHashes: string[] = [];
  const write = async (name: string, table: ParameterTable, vector: Float32Array, hashes: string[]) => {
    const tensors = tensorsOf(table, vector);
    files.push(await writeEntry({ folder, name }, { disk, chunks: formatSafetensors(tensors) }));
    hashes.push(sha256Hex(bytesOf(vector)));
  };
  for await (const { table, parameters, momentum } of options.stages) {
    const stage = parameterHashes.length;
    await write(stageFileName(stage), table, parameters, parameterHashes);
    if (momentum !== undefined) await write(momentumFileName(stage), table, momentum, momentumHashes);
  }
  assert(
    [0, parameterHashes.length].includes(momentumHashes.length),
    "Either every stage has outer momentum or none has",
  );
  const manifest: CheckpointManifest = { format: checkpointFormat, ...state, parameterHashes, momentumHashes, files };
  const text = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  await writeAtomically(`${folder}/${manifestName}`, { disk, chunks: [text] });
  await disk.syncFolder(options.folder);
  return folder;
}

/** The stage's padded parameter vector, checked against the manifest's hash. */
export async function readStage(request: StageRequest): Promise<Float32Array> {
  const { parameterHashes } = await readManifest(request.folder);
  return await readVector(request, { name: stageFileName(request.stage), hash: parameterHashes[request.stage] });
}

/** The stage's outer momentum; null when the checkpoint was written without. */
export async function readMomentum(request: StageRequest): Promise<Float32Array | null> {
  const { momentumHashes } = await readManifest(request.folder);
  if (momentumHashes.length === 0) return null;
  return await readVector(request, { name: momentumFileName(request.stage), hash: momentumHashes[request.stage] });
}

/**
 * The newest whole checkpoint below `folder`, every file verified; null when there is none. `warn` hears of each that is
 * passed over.
 */
export async function latestCheckpoint(
  folder: string,
  warn: (message: string) => void,
): Promise<FoundCheckpoint | null> {
  for (const name of await checkpointNames(folder)) {
    const candidate = `${folder}/${name}`;
    const found = await verifyCheckpoint(candidate);
    if (!(found instanceof CheckpointError)) return { folder: candidate, manifest: found };
    warn(found.message);
  }
  return null;
}

/** Keeps the newest `keep` checkpoints that have a manifest; removes the older ones and unfinished leftovers before them. */
export async function pruneCheckpoints(options: { folder: string; keep: number; disk?: Disk }): Promise<void> {
  const { folder, keep, disk = realDisk } = options;
  assert(keep >= 1, `Cannot prune checkpoints as at least one must stay: current value is ${keep}`);
  let kept = 0;
  for (const name of await checkpointNames(folder)) {
    const path = `${folder}/${name}`;
    if (kept < keep) {
      if (await isFile(`${path}/${manifestName}`)) kept++;
      continue;
    }
    await disk.remove(`${path}/${manifestName}`);
    await disk.syncFolder(path);
    await disk.remove(path);
  }
}

/** Names of checkpoint folders, newest first; a folder that does not exist has none. */
async function checkpointNames(folder: string): Promise<string[]> {
  if (!(await isFolder(folder))) return [];
  const entries = await attempting({ action: "read", value: folder }, () => Array.fromAsync(Deno.readDir(folder)));
  const names = entries.filter((entry) => entry.isDirectory && folderPattern.test(entry.name)).map(({ name }) => name);
  return names.sort((a, b) => b.length - a.length || (a < b ? 1 : -1));
}

async function verifyCheckpoint(folder: string): Promise<CheckpointManifest | CheckpointError> {
  try {
    const manifest = await readManifest(folder);
    const problem = await firstProblem(folder, manifest.files);
    if (problem === null) return manifest;
    return new CheckpointError({ folder, problem });
  } catch (error) {
    if (error instanceof CheckpointError) return error;
    throw error;
  }
}

async function readVector(
  request: StageRequest,
  expected: { name: string; hash: string | undefined },
): Promise<Float32Array> {
  const { folder, stage, table } = request;
  if (expected.hash === undefined) {
    throw new CheckpointError({ folder, problem: `it has no stage ${stage}` });
  }
  const vector = new Float32Array(table.length); // padding between tensors stays zero
  const file = await SafetensorsFile.open(`${folder}/${expected.name}`);
  try {
    for (const { name, shape, offset, size } of table.tensors) {
      await file.readInto(name, { shape, out: vector.subarray(offset, offset + size) });
    }
    if (file.header.tensors.size !== table.tensors.length) {
      const held = file.header.tensors.size;
      throw new CheckpointError({
        folder,
        problem: `${expected.name} must hold ${table.tensors.length} tensors: it holds ${held}`,
      });
    }
  } finally {
    file.close();
  }
  const hash = sha256Hex(bytesOf(vector));
  if (hash !== expected.hash) {
    throw new CheckpointError({
      folder,
      problem: `${expected.name} must have values of hash ${expected.hash}: they have ${hash}`,
    });
  }
  return vector;
}

function tensorsOf(table: ParameterTable, vector: Float32Array): TensorData[] {
  assert(
    vector.length === table.length,
    `Cannot write a stage as its vector must have ${table.length} floats: current value is ${vector.length}`,
  );
  return table.tensors.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    values: vector.subarray(offset, offset + size),
  }));
}
