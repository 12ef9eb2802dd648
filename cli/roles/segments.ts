/**
 * Contents that a machine knows only by hash: wires, tokens and gradients, from their arrival to their last use.
 *
 * `hold` adds one holder, `release` removes one, the content goes with the last. Production holds bytes, the simulator
 * names without bytes; reading or releasing what is not held fails in both.
 */

import { assert } from "../../core/assert.ts";
import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { hashOf } from "../../net/blob_hash.ts";

type NameContent<Held> = (content: Held, hash?: BlobHash) => BlobRef;

interface Entry<Held> {
  readonly content: Held;
  readonly ref: BlobRef;
  holders: number;
}

export class Segments<Held> {
  readonly #held = new Map<BlobHash, Entry<Held>>();
  readonly #name: NameContent<Held>;
  #bytes = 0;
  #holders = 0;

  constructor(name: NameContent<Held>) {
    this.#name = name;
  }

  get all(): Held[] {
    return [...this.#held.values()].map(({ content }) => content);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get holders(): number {
    return this.#holders;
  }

  holdersOf({ hash }: BlobRef): number {
    return this.#held.get(hash)?.holders ?? 0;
  }

  hold(content: Held, hash?: BlobHash): BlobRef {
    const ref = this.#name(content, hash);
    const entry = this.#held.get(ref.hash);
    this.#holders += 1;
    if (entry === undefined) {
      this.#held.set(ref.hash, { content, ref, holders: 1 });
      this.#bytes += ref.bytes;
    } else entry.holders += 1;
    return ref;
  }

  take({ segments, names }: { segments: readonly Held[]; names: readonly BlobHash[] }): BlobRef[] {
    return segments.map((content, index) => this.hold(content, names[index]));
  }

  get({ hash }: BlobRef): Held {
    const entry = this.#held.get(hash);
    assert(entry !== undefined, `Cannot read segment ${hash}: it is not held`);
    return entry.content;
  }

  /** For sending: the name is known. */
  named(ref: BlobRef): { readonly hash: BlobHash; readonly bytes: Held } {
    return { hash: ref.hash, bytes: this.get(ref) };
  }

  release(refs: readonly BlobRef[]): void {
    for (const { hash } of refs) {
      const entry = this.#held.get(hash);
      assert(entry !== undefined, `Cannot release segment ${hash}: it is not held`);
      entry.holders -= 1;
      this.#holders -= 1;
      if (entry.holders > 0) continue;
      this.#held.delete(hash);
      this.#bytes -= entry.ref.bytes;
    }
  }
}

export type ByteSegments = Segments<Uint8Array>;

export function byteSegments(): ByteSegments {
  return new Segments<Uint8Array>((bytes, hash = hashOf(bytes)) => ({ hash, bytes: bytes.byteLength }));
}
