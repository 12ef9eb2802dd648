/**
 * Token ids on disk: flat little-endian files, u16 or u32, read at any position without loading them. A stream may span
 * several files (shards). Reads are synchronous: a window is a few hundred bytes.
 */

import { assert, present } from "../../../core/assert.ts";
import { UserError } from "../../program/errors.ts";

export type TokenBytes = 2 | 4;

export function tokenBytesFor(vocabSize: number): TokenBytes {
  return vocabSize <= 2 ** 16 ? 2 : 4;
}

/** Every machine Deno runs on is little-endian, so the array's memory is the file's bytes. */
export function tokensAsBytes(tokens: Iterable<number>, tokenBytes: TokenBytes): Uint8Array<ArrayBuffer> {
  const array = tokenBytes === 2 ? Uint16Array.from(tokens) : Uint32Array.from(tokens);
  return new Uint8Array(array.buffer);
}

interface OpenShard {
  readonly file: Deno.FsFile;
  readonly first: number;
  readonly tokens: number;
}

export class TokenReader {
  readonly tokens: number;
  readonly #shards: OpenShard[] = [];
  readonly #tokenBytes: TokenBytes;
  readonly #vocabSize: number;

  constructor(options: {
    files: readonly { path: string; tokens: number }[];
    tokenBytes: TokenBytes;
    vocabSize: number;
  }) {
    this.#tokenBytes = options.tokenBytes;
    this.#vocabSize = options.vocabSize;
    let first = 0;
    for (const { path, tokens } of options.files) {
      this.#shards.push({ file: Deno.openSync(path, { read: true }), first, tokens });
      first += tokens;
    }
    this.tokens = first;
  }

  read(position: number, count: number): Uint32Array {
    assert(
      position >= 0 && position + count <= this.tokens,
      `Tokens must be within the stream of ${this.tokens}: asked for ${count} at ${position}`,
    );
    const out = new Uint32Array(count);
    for (const shard of this.#shards) {
      const from = Math.max(position, shard.first);
      const to = Math.min(position + count, shard.first + shard.tokens);
      if (from < to) out.set(this.#readShard(shard, { from: from - shard.first, count: to - from }), from - position);
    }
    const foreign = out.findIndex((token) => token >= this.#vocabSize);
    if (foreign >= 0) {
      throw new UserError(
        `The dataset's token ${position + foreign} is ${out[foreign]}, and its tokenizer has ${this.#vocabSize}`,
        { next: "Prepare the dataset again" },
      );
    }
    return out;
  }

  close(): void {
    for (const shard of this.#shards.splice(0)) shard.file.close();
  }

  #readShard(shard: OpenShard, range: { from: number; count: number }): Uint16Array | Uint32Array {
    const bytes = new Uint8Array(range.count * this.#tokenBytes);
    shard.file.seekSync(range.from * this.#tokenBytes, Deno.SeekMode.Start);
    for (let done = 0; done < bytes.length;) {
      done += present(shard.file.readSync(bytes.subarray(done)), "A token file must keep its size while it is open");
    }
    return this.#tokenBytes === 2 ? new Uint16Array(bytes.buffer) : new Uint32Array(bytes.buffer);
  }
}
