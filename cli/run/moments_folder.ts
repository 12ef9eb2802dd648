/**
 * A miner's own optimizer state on disk, so that a restarted miner goes on where it was: one file, replaced at every merge.
 *
 * The state is private and never leaves the machine. It is used only when stage, round and parameter hash are the ones that
 * the miner is told to load; a missing, torn or foreign file means empty moments, never a failure.
 */

import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { stageIndex } from "../../core/ids.ts";
import type { Moments } from "../../gpu/compute.ts";
import { refOf } from "../../net/blob_hash.ts";
import { type Disk, readIfPresent, realDisk, writeAtomically } from "../data/disk.ts";
import { bytesOfFloats, floatsOf } from "./blob_access.ts";

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

  /** Failing to save costs a warm optimizer after a restart, nothing else: it warns. */
  async save(options: { stage: StageIndex; round: number; parameters: BlobRef; moments: Moments }): Promise<void> {
    const { stage, round, parameters, moments } = options;
    const body = new Uint8Array(8 * moments.first.length);
    body.set(bytesOfFloats(moments.first), 0);
    body.set(bytesOfFloats(moments.second), 4 * moments.first.length);
    const header: Header = {
      format: "iota-moments-1",
      stage,
      round,
      parameters: parameters.hash,
      steps: moments.steps,
      floats: moments.first.length,
      hash: refOf(body).hash,
    };
    const head = new TextEncoder().encode(JSON.stringify(header).padEnd(headerBytes));
    try {
      await this.#disk.createFolder(this.#folder);
      await writeAtomically(`${this.#folder}/${fileName}`, { disk: this.#disk, chunks: [head, body] });
    } catch (error) {
      this.#warn(`The optimizer state was not saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** The stage whose state lies here; null when none does. */
  async stage(): Promise<StageIndex | null> {
    const file = await readIfPresent(`${this.#folder}/${fileName}`);
    const header = file === null ? null : readHeader(file);
    return header === null ? null : stageIndex(header.stage);
  }

  async load(
    options: { stage: StageIndex; round: number; length: number; parameters: BlobRef },
  ): Promise<Moments | null> {
    const file = await readIfPresent(`${this.#folder}/${fileName}`);
    const header = file === null ? null : readHeader(file);
    if (file === null || header === null) return null;
    const fits = header.stage === options.stage && header.round === options.round &&
      header.parameters === options.parameters.hash && header.floats === options.length;
    const body = file.subarray(headerBytes);
    if (!fits || body.byteLength !== 8 * options.length || refOf(body).hash !== header.hash) return null;
    const half = 4 * options.length;
    return { first: floatsOf(body.subarray(0, half)), second: floatsOf(body.subarray(half)), steps: header.steps };
  }
}

function readHeader(file: Uint8Array): Header | null {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(file.subarray(0, headerBytes)));
    const isOurs = typeof header === "object" && header !== null && "format" in header &&
      header.format === "iota-moments-1";
    return isOurs ? header as Header : null;
  } catch {
    return null; // torn or foreign: as good as none
  }
}
