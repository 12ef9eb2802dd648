/**
 * Bytes that a machine knows only by hash: wires, tokens, gradients between their arrival and their last use.
 *
 * Counted: `hold` adds one holder, `release` takes one away, the bytes go with the last. In memory, because wires are small
 * and short-lived; anything large or lasting is a blob.
 */

import { assert, present } from "../../core/assert.ts";
import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { hashOf } from "../../net/blobs/blob_hash.ts";
import type { NamedSegment } from "../../net/messages/frame.ts";

export class Segments {
  readonly #held = new Map<string, { bytes: Uint8Array; holders: number }>();
  #bytes = 0;

  /** Each once. */
  get all(): Uint8Array[] {
    return [...this.#held.values()].map(({ bytes }) => bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `hash`: their name, where it is known. */
  hold(bytes: Uint8Array, hash: BlobHash = hashOf(bytes)): BlobRef {
    const ref = { hash, bytes: bytes.length };
    const entry = this.#held.get(ref.hash);
    if (entry === undefined) {
      this.#held.set(ref.hash, { bytes, holders: 1 });
      this.#bytes += bytes.byteLength;
    } else entry.holders += 1;
    return ref;
  }

  /** Holds the segments of a message, in order. A segment sent by reference would be fetched here. */
  take({ segments, names }: { segments: readonly Uint8Array[]; names: readonly BlobHash[] }): BlobRef[] {
    return segments.map((bytes, index) => this.hold(bytes, names[index]));
  }

  get(ref: BlobRef): Uint8Array {
    return present(this.#held.get(ref.hash), `segment ${ref.hash} is held`).bytes;
  }

  /** To be sent: its name is known. */
  named(ref: BlobRef): NamedSegment {
    return { hash: ref.hash, bytes: this.get(ref) };
  }

  release(refs: readonly BlobRef[]): void {
    for (const ref of refs) {
      const entry = this.#held.get(ref.hash);
      assert(entry !== undefined, `Cannot release segment ${ref.hash} as it must be held`);
      entry.holders -= 1;
      if (entry.holders > 0) continue;
      this.#held.delete(ref.hash);
      this.#bytes -= entry.bytes.byteLength;
    }
  }
}
