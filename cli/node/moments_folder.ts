/**
 * A miner's own optimizer state on disk, so that a restarted miner resumes with warm moments: one file, replaced at
 * every merge.
 *
 * The state is private and never leaves the machine. It is used only if stage, round and parameter hash match what the
 * miner must load; a missing, torn or foreign file means empty moments, never a failure.
 */

import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { stageIndex } from "../../core/ids.ts";
import type { Moments } from "../../gpu/compute.ts";
import { TreeDigest } from "../../net/blobs/blob_hash.ts";
import { piecesInTurns } from "../../net/turns.ts";
import { type Disk, isFile, realDisk, writeAtomically } from "../data/disk.ts";
import { attempting } from "../output/errors.ts";
import { bytesOfFloats } from "../roles/blob_access.ts";

interface Header {
  readonly format: "iota-moments-1";
  readonly stage: number;
  readonly round: number;
  readonly parameters: string;
  readonly steps: number;
  readonly floats: number;
  readonly hash: string; // of both vectors
}

const fileName = "optimizer.bin";
const headerBytes = 512;

export class MomentsFolder {
  readonly #folder: string;
  readonly #disk: Disk;
  readonly #warn: (text: string) => void;

  constructor(folder: string, options: { disk?: Disk; warn: (text: string) => void }) {
    this.#folder = folder;
    this.#disk = options.disk ?? realDisk;
    this.#warn = options.warn;
  }

  /** A failed save costs only a warm optimizer after a restart, so it is a warning. */
  async save(options: { stage: StageIndex; round: number; parameters: BlobRef; moments: Moments }): Promise<void> {
    const { stage, round, parameters, moments } = options;
    const body = [bytesOfFloats(moments.first), bytesOfFloats(moments.second)];
    const header: Header = {
      format: "iota-moments-1",
      stage,
      round,
      parameters: parameters.hash,
      steps: moments.steps,
      floats: moments.first.length,
      hash: await hashOfBoth(body),
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
    options: { stage: StageIndex; round: number; length: number; parameters: BlobRef },
  ): Promise<Moments | null> {
    const { length } = options;
    return await this.#reading(async (file, header) => {
      const fits = header.stage === options.stage && header.round === options.round &&
        header.parameters === options.parameters.hash && header.floats === length;
      if (!fits || (await file.stat()).size !== headerBytes + 8 * length) return null;
      const [first, second] = [new Float32Array(length), new Float32Array(length)];
      const body = [bytesOfFloats(first), bytesOfFloats(second)];
      for (const part of body) if (!await fill(file, part)) return null;
      return await hashOfBoth(body) === header.hash ? { first, second, steps: header.steps } : null;
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

/** The hash of both vectors as one blob. */
async function hashOfBoth(parts: readonly Uint8Array[]): Promise<string> {
  const digest = new TreeDigest();
  for (const part of parts) {
    for await (const piece of piecesInTurns(part, readBytes)) digest.update(piece);
  }
  return digest.finish().ref.hash;
}

function readHeader(head: Uint8Array): Header | null {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(head));
    const isOurs = typeof header === "object" && header !== null && "format" in header &&
      header.format === "iota-moments-1";
    return isOurs ? header as Header : null;
  } catch {
    return null; // torn or foreign: counts as none
  }
}
