/**
 * A miner's own state on disk, so that a restarted miner resumes with it: its optimizer's vectors and the residual of its
 * payloads. One file, replaced at every merge.
 *
 * The state is private and never leaves the machine. It is used only if stage and parameter hash match what the miner must
 * load, and its vectors are those that the run's optimizer and payload codec keep. A missing, torn or foreign
 * file, or one of an earlier format, means an empty state, never a failure.
 */

import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { stageIndex } from "../../core/ids.ts";
import { bytesOfFloats, vectorBytes } from "../../core/model/vector_bytes.ts";
import { TreeDigest } from "../../net/blobs/blob_hash.ts";
import { piecesInTurns } from "../../net/turns.ts";
import { type Disk, isFile, realDisk, writeAtomically } from "../data/disk.ts";
import { attempting } from "../output/errors.ts";
import type { OwnState, OwnStateStore, VectorName } from "./own_state.ts";

interface Header {
  readonly format: "iota-moments-2";
  readonly stage: number;
  readonly round: number;
  readonly parameters: string;
  readonly steps: number;
  readonly vectors: readonly VectorName[];
  readonly hash: string; // of all vectors
}

const format: Header["format"] = "iota-moments-2";
const fileName = "optimizer.bin";
const headerBytes = 4096;

export class OwnStateFolder implements OwnStateStore {
  readonly #folder: string;
  readonly #disk: Disk;
  readonly #warn: (text: string) => void;

  constructor(folder: string, options: { disk?: Disk; warn: (text: string) => void }) {
    this.#folder = folder;
    this.#disk = options.disk ?? realDisk;
    this.#warn = options.warn;
  }

  /** A failed save costs only a warm optimizer after a restart, so it is a warning. */
  async save(options: { stage: StageIndex; round: number; parameters: BlobRef; state: OwnState }): Promise<void> {
    const { stage, round, parameters, state: { vectors, steps } } = options;
    const body = [...vectors.values()].map(bytesOfFloats);
    const header: Header = {
      format,
      stage,
      round,
      parameters: parameters.hash,
      steps,
      vectors: Array.from(vectors, ([name, { length }]) => [name, length]),
      hash: await hashOfAll(body),
    };
    const head = new TextEncoder().encode(JSON.stringify(header).padEnd(headerBytes));
    try {
      await this.#disk.createFolder(this.#folder);
      await writeAtomically(`${this.#folder}/${fileName}`, { disk: this.#disk, chunks: [head, ...body] });
    } catch (error) {
      this.#warn(`The optimizer state was not saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** The stage whose state is stored here; null: none. */
  async stage(): Promise<StageIndex | null> {
    return await this.#reading((_, header) => Promise.resolve(stageIndex(header.stage)));
  }

  async load(
    options: { stage: StageIndex; parameters: BlobRef; vectors: readonly VectorName[] },
  ): Promise<OwnState | null> {
    const { stage, parameters, vectors } = options;
    return await this.#reading(async (file, header) => {
      const fits = header.stage === stage && header.parameters === parameters.hash &&
        JSON.stringify(header.vectors) === JSON.stringify(vectors);
      const bytes = vectors.reduce((sum, [, values]) => sum + vectorBytes(values), headerBytes);
      if (!fits || (await file.stat()).size !== bytes) return null;
      const read = new Map(vectors.map(([name, values]) => [name, new Float32Array(values)]));
      const body = [...read.values()].map(bytesOfFloats);
      for (const part of body) if (!await fill(file, part)) return null;
      return await hashOfAll(body) === header.hash ? { vectors: read, steps: header.steps } : null;
    });
  }

  /** Null if there is no valid file. */
  async #reading<T>(use: (file: Deno.FsFile, header: Header) => Promise<T | null>): Promise<T | null> {
    const path = `${this.#folder}/${fileName}`;
    if (!await isFile(path)) return null;
    using file = await attempting({ action: "read", value: path }, () => Deno.open(path));
    const head = new Uint8Array(headerBytes);
    const header = await fill(file, head) ? readHeader(head) : null;
    return header === null ? null : await use(file, header);
  }
}

const readBytes = 4 * 1024 * 1024; // copied by each read

/** False: the file is too short. */
async function fill(file: Deno.FsFile, bytes: Uint8Array): Promise<boolean> {
  for (let done = 0; done < bytes.length;) {
    const count = await file.read(bytes.subarray(done, done + readBytes));
    if (count === null) return false;
    done += count;
  }
  return true;
}

/** The hash of all vectors as one blob. */
async function hashOfAll(parts: readonly Uint8Array[]): Promise<string> {
  const digest = new TreeDigest();
  for (const part of parts) {
    for await (const piece of piecesInTurns(part, readBytes)) digest.update(piece);
  }
  return digest.finish().ref.hash;
}

function readHeader(head: Uint8Array): Header | null {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(head));
    const isOurs = typeof header === "object" && header !== null && "format" in header && header.format === format;
    return isOurs ? header as Header : null;
  } catch {
    return null; // torn, foreign or of an earlier format: counts as none
  }
}
