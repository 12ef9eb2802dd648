/**
 * A miner's own state on disk, replaced at every merge, so that a restarted miner resumes with it.
 *
 * It must belong to the miner's stage, and to the loaded parameters or an earlier round of the same run, and have the
 * vectors that the run keeps. Otherwise the state is empty, with a warning if the file is damaged, foreign or older.
 *
 * File: the hash of the rest of the head, as 64 hexadecimal digits; the header, JSON padded with spaces; the vectors as
 * float32. The header holds the hash of all vectors.
 */

import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { stageIndex } from "../../core/ids.ts";
import { bytesOfFloats, vectorBytes } from "../../core/model/vector_bytes.ts";
import { refOf, TreeDigest } from "../../net/blob_hash.ts";
import { piecesInTurns } from "../../net/turns.ts";
import { type Disk, isFile, realDisk, writeAtomically } from "../files/disk.ts";
import { attempting } from "../program/errors.ts";
import type { OwnState, OwnStateStore, StateWanted, StoredState, VectorName } from "./own_state.ts";

interface Header {
  readonly format: "iota-moments-4";
  readonly run: string;
  readonly stage: number;
  readonly round: number;
  readonly parameters: string;
  readonly steps: number;
  readonly vectors: readonly VectorName[];
  readonly hash: string;
}

const format: Header["format"] = "iota-moments-4";
const fileName = "optimizer.bin";
const headBytes = 4096;
const sealBytes = 64; // hexadecimal digits of a hash

export class OwnStateFolder implements OwnStateStore {
  readonly #folder: string;
  readonly #run: () => string;
  readonly #disk: Disk;
  readonly #warn: (text: string) => void;

  /** `run`: the id of the joined run. */
  constructor(folder: string, options: { run: () => string; disk?: Disk; warn: (text: string) => void }) {
    this.#folder = folder;
    this.#run = options.run;
    this.#disk = options.disk ?? realDisk;
    this.#warn = options.warn;
  }

  /** A failed save only costs a warm optimizer, so it is a warning. */
  async save(options: { stage: StageIndex; round: number; parameters: BlobRef; state: OwnState }): Promise<void> {
    const { stage, round, parameters, state: { vectors, steps } } = options;
    const body = [...vectors.values()].map(bytesOfFloats);
    const header: Header = {
      format,
      run: this.#run(),
      stage,
      round,
      parameters: parameters.hash,
      steps,
      vectors: Array.from(vectors, ([name, { length }]) => [name, length]),
      hash: await hashOfAll(body),
    };
    try {
      await this.#disk.createFolder(this.#folder);
      await writeAtomically(this.#path, { disk: this.#disk, chunks: [headOf(header), ...body] });
    } catch (error) {
      this.#warn(`The optimizer state was not saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async stage(): Promise<StageIndex | null> {
    const stage = await this.#reading((_, header) => Promise.resolve(stageIndex(header.stage)));
    return stage === "damaged" ? null : stage;
  }

  async load({ stage, round, parameters, vectors }: StateWanted): Promise<StoredState | null> {
    const state = await this.#reading(async (file, header) => {
      const isEarlier = header.parameters !== parameters.hash;
      const fits = header.stage === stage && (!isEarlier || header.run === this.#run() && header.round < round) &&
        JSON.stringify(header.vectors) === JSON.stringify(vectors);
      if (!fits) return null;
      const bytes = vectors.reduce((sum, [, values]) => sum + vectorBytes(values), headBytes);
      if ((await file.stat()).size !== bytes) return "damaged";
      const read = new Map(vectors.map(([name, values]) => [name, new Float32Array(values)]));
      const body = [...read.values()].map(bytesOfFloats);
      for (const part of body) if (!await fill(file, part)) return "damaged";
      return await hashOfAll(body) === header.hash ? { vectors: read, steps: header.steps, isEarlier } : "damaged";
    });
    if (state !== "damaged") return state;
    this.#warn(`The optimizer state begins empty: ${this.#path} is damaged or was written by another version`);
    return null;
  }

  get #path(): string {
    return `${this.#folder}/${fileName}`;
  }

  async #reading<T>(
    use: (file: Deno.FsFile, header: Header) => Promise<T>,
  ): Promise<T | "damaged" | null> {
    const path = this.#path;
    if (!await isFile(path)) return null;
    using file = await attempting({ action: "read", value: path }, () => Deno.open(path));
    const head = new Uint8Array(headBytes);
    const header = await fill(file, head) ? readHead(head) : null;
    return header === null ? "damaged" : await use(file, header);
  }
}

const readBytes = 4 * 1024 * 1024; // copied by each read

/** False: too short. */
async function fill(file: Deno.FsFile, bytes: Uint8Array): Promise<boolean> {
  for (let done = 0; done < bytes.length;) {
    const count = await file.read(bytes.subarray(done, done + readBytes));
    if (count === null) return false;
    done += count;
  }
  return true;
}

async function hashOfAll(parts: readonly Uint8Array[]): Promise<string> {
  const digest = new TreeDigest();
  for (const part of parts) {
    for await (const piece of piecesInTurns(part, readBytes)) digest.update(piece);
  }
  return digest.finish().ref.hash;
}

function headOf(header: Header): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(header).padEnd(headBytes - sealBytes);
  return new TextEncoder().encode(sealOf(text) + text);
}

const sealOf = (text: string): string => refOf(new TextEncoder().encode(text)).hash;

/** Null: damaged, foreign or of an earlier format. */
function readHead(head: Uint8Array): Header | null {
  try {
    const whole = new TextDecoder("utf-8", { fatal: true }).decode(head);
    const text = whole.slice(sealBytes);
    if (!whole.startsWith(sealOf(text))) return null;
    const header: unknown = JSON.parse(text);
    return isHeader(header) ? header : null;
  } catch {
    return null;
  }
}

function isHeader(value: unknown): value is Header {
  if (typeof value !== "object" || value === null) return false;
  const { format: own, run, stage, round, parameters, steps, vectors, hash }: Partial<Record<keyof Header, unknown>> =
    value;
  return own === format && [stage, round, steps].every(isCount) &&
    [run, parameters].every((text) => typeof text === "string") &&
    Array.isArray(vectors) && typeof hash === "string";
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
