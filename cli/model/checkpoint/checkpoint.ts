/**
 * Checkpoints of a run: `round-000012/` with one safetensors file per stage, optional outer momentum, and a manifest.
 *
 * A folder is a checkpoint if and only if it has a manifest of its own round whose files verify. A new one is written
 * completely as `round-000012.partial` and then renamed; removal starts with the manifest. So a power cut at any point
 * leaves a whole checkpoint or a folder that `latestCheckpoint` skips. Another folder of the same name is put aside,
 * and only checkpoints older than the run's newest are removed.
 */

import { basename } from "node:path";
import { assert } from "../../../core/assert.ts";
import type { ParameterTable } from "../../../core/model/spec.ts";
import { type Disk, isFile, isFolder, parentOf, realDisk, writeAtomically } from "../../files/disk.ts";
import { attempting } from "../../program/errors.ts";
import { type FileEntry, firstProblem, sha256InTurns, writeEntry } from "../../files/file_entry.ts";
import { putAside } from "../../files/put_aside.ts";
import {
  CheckpointError,
  checkpointFormat,
  type CheckpointManifest,
  manifestName,
  momentumFileName,
  readManifest,
  stageFileName,
} from "./manifest.ts";
import { bytesOf, formatSafetensors, SafetensorsFile, type TensorData } from "../tensors/safetensors.ts";

export interface StageVectors {
  readonly table: ParameterTable;
  readonly parameters: Float32Array;
  readonly momentum?: Float32Array; // all stages have it or none
}

export type CheckpointState = Omit<CheckpointManifest, "format" | "parameterHashes" | "momentumHashes" | "files">;

interface StageRequest {
  readonly folder: string;
  readonly stage: number;
  readonly table: ParameterTable;
}

export interface FoundCheckpoint {
  readonly folder: string;
  readonly manifest: CheckpointManifest;
}

const partialSuffix = ".partial";

export function checkpointName(round: number): string {
  return `round-${String(round).padStart(6, "0")}`;
}

/** Stages are read one by one, so a large model need not fit in memory. */
export async function writeCheckpoint(options: {
  folder: string;
  state: CheckpointState;
  stages: Iterable<StageVectors> | AsyncIterable<StageVectors>;
  disk?: Disk;
  warn?: (text: string) => void;
}): Promise<string> {
  const { state, disk = realDisk, warn = () => {} } = options;
  const name = checkpointName(state.round);
  const folder = `${options.folder}/${name}${partialSuffix}`;
  await disk.remove(folder);
  await disk.createFolder(folder);
  const files: FileEntry[] = [];
  const parameterHashes: string[] = [];
  const momentumHashes: string[] = [];
  const write = async (name: string, table: ParameterTable, vector: Float32Array, hashes: string[]) => {
    const tensors = tensorsOf(table, vector);
    files.push(await writeEntry({ folder, name }, { disk, chunks: formatSafetensors(tensors) }));
    hashes.push(await sha256InTurns([bytesOf(vector)]));
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
  return await moveIntoPlace({ folder: options.folder, name, manifest, disk, warn });
}

async function moveIntoPlace(options: {
  folder: string;
  name: string;
  manifest: CheckpointManifest;
  disk: Disk;
  warn: (text: string) => void;
}): Promise<string> {
  const { folder, name, manifest, disk, warn } = options;
  const place = `${folder}/${name}`;
  if (await isFolder(place)) {
    const found = await verifyCheckpoint(place);
    if (!(found instanceof CheckpointError) && isSameCheckpoint(found, manifest)) { // already written before a kill
      await disk.remove(`${place}${partialSuffix}`);
      return place;
    }
    const [kept] = await putAside({ folder, names: [name], disk });
    const why = found instanceof CheckpointError ? found.message : `'${place}' is another checkpoint of the same round`;
    warn(`${why}; it is kept as '${kept}', and a new one takes its place`);
  }
  await disk.rename(`${place}${partialSuffix}`, place);
  await disk.syncFolder(folder);
  await disk.syncFolder(parentOf(folder)); // the first checkpoint makes the folder
  return place;
}

function isSameCheckpoint(a: CheckpointManifest, b: CheckpointManifest): boolean {
  const keyOf = ({ runId, round, step, files }: CheckpointManifest) => JSON.stringify({ runId, round, step, files });
  return keyOf(a) === keyOf(b);
}

export async function readStage(request: StageRequest): Promise<Float32Array> {
  const { parameterHashes } = await readManifest(request.folder);
  return await readVector(request, { name: stageFileName(request.stage), hash: parameterHashes[request.stage] });
}

/** Null: written without momentum. */
export async function readMomentum(request: StageRequest): Promise<Float32Array | null> {
  const { momentumHashes } = await readManifest(request.folder);
  if (momentumHashes.length === 0) return null;
  return await readVector(request, { name: momentumFileName(request.stage), hash: momentumHashes[request.stage] });
}

/** Verifies every file. `warn` is called for each checkpoint skipped. */
export async function latestCheckpoint(
  folder: string,
  warn: (message: string) => void,
  runId?: string,
): Promise<FoundCheckpoint | null> {
  for (const name of await checkpointNames(folder)) {
    const candidate = `${folder}/${name}`;
    const found = await verifyCheckpoint(candidate);
    if (found instanceof CheckpointError) warn(found.message);
    else if (runId === undefined || found.runId === runId) return { folder: candidate, manifest: found };
    else warn(`The checkpoint '${candidate}' belongs to another run (${found.runId}) and is ignored`);
  }
  return null;
}

export interface Retention {
  readonly newest: number; // how many of the newest stay, at least one
  readonly everySteps: number; // the first one at or after each multiple of this stays for good; 0: none
}

/** Of checkpoints up to `round`. Newer ones belong to another run, or to a later state of this one. */
export async function pruneCheckpoints(
  options: { folder: string; keep: Retention; round: number; disk?: Disk },
): Promise<void> {
  const { folder, keep, round, disk = realDisk } = options;
  assert(keep.newest >= 1, `At least one checkpoint must be kept, not ${keep.newest}`);
  let kept = 0;
  const names = (await checkpointNames(folder)).filter((name) => roundOf(name) <= round);
  const milestones = keep.everySteps === 0 ? null : await milestonesOf(folder, names, keep.everySteps);
  for (const name of names) {
    const path = `${folder}/${name}`;
    if (kept < keep.newest) {
      if (await isFile(`${path}/${manifestName}`)) kept++;
      continue;
    }
    if (milestones?.has(name)) continue;
    await disk.remove(`${path}/${manifestName}`);
    await disk.syncFolder(path);
    await disk.remove(path);
  }
  const unfinished = await foldersOf(folder, /^round-(\d{6,})\.partial$/);
  for (const name of unfinished.filter((name) => roundOf(name) < round)) await disk.remove(`${folder}/${name}`);
}

async function milestonesOf(folder: string, names: readonly string[], every: number): Promise<Set<string>> {
  const firstOf = new Map<number, string>(); // by how many multiples it is beyond
  for (const name of names) { // newest first
    const path = `${folder}/${name}`;
    if (!(await isFile(`${path}/${manifestName}`))) continue;
    firstOf.set(Math.floor((await readManifest(path)).step / every), name);
  }
  firstOf.delete(0);
  return new Set(firstOf.values());
}

export async function putAsideNewer(options: { folder: string; round: number; disk?: Disk }): Promise<string[]> {
  const { folder, round, disk = realDisk } = options;
  const newer = (await checkpointNames(folder)).filter((name) => roundOf(name) > round);
  return await putAside({ folder, names: newer, disk });
}

export async function checkpointNames(folder: string): Promise<string[]> {
  const names = await foldersOf(folder, /^round-\d{6,}$/);
  return names.sort((a, b) => roundOf(b) - roundOf(a));
}

async function foldersOf(folder: string, pattern: RegExp): Promise<string[]> {
  if (!(await isFolder(folder))) return [];
  const entries = await attempting({ action: "read", value: folder }, () => Array.fromAsync(Deno.readDir(folder)));
  return entries.filter((entry) => entry.isDirectory && pattern.test(entry.name)).map(({ name }) => name);
}

function roundOf(name: string): number {
  return Number(/^round-(\d+)/.exec(name)?.[1]);
}

async function verifyCheckpoint(folder: string): Promise<CheckpointManifest | CheckpointError> {
  try {
    const manifest = await readManifest(folder);
    const problem = nameProblem(folder, manifest) ?? await firstProblem(folder, manifest.files);
    if (problem === null) return manifest;
    return new CheckpointError({ folder, problem });
  } catch (error) {
    if (error instanceof CheckpointError) return error;
    throw error;
  }
}

/** A copy under another number would count as newer, or older, than it is. */
function nameProblem(folder: string, { round }: CheckpointManifest): string | null {
  const named = roundOf(basename(folder));
  return named === round
    ? null
    : `its folder is named for round ${named}, and its ${manifestName} is of round ${round}`;
}

async function readVector(
  request: StageRequest,
  expected: { name: string; hash: string | undefined },
): Promise<Float32Array> {
  const { folder, stage, table } = request;
  if (expected.hash === undefined) {
    throw new CheckpointError({ folder, problem: `it has no stage ${stage}` });
  }
  const file = await SafetensorsFile.open(`${folder}/${expected.name}`);
  let vector: Float32Array;
  try {
    for (const { name, shape } of table.tensors) file.check(name, shape); // before there is memory for what a manifest claims
    vector = new Float32Array(table.length); // padding between tensors stays zero
    for (const { name, shape, offset, size } of table.tensors) {
      await file.readInto(name, { shape, out: vector.subarray(offset, offset + size) });
    }
    if (file.header.tensors.size !== table.tensors.length) {
      const held = file.header.tensors.size;
      throw new CheckpointError({
        folder,
        problem: `${expected.name} must hold ${table.tensors.length} tensors, but holds ${held}`,
      });
    }
  } finally {
    file.close();
  }
  const hash = await sha256InTurns([bytesOf(vector)]);
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
    `A stage's vector must have ${table.length} floats, but has ${vector.length}`,
  );
  return table.tensors.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    values: vector.subarray(offset, offset + size),
  }));
}
