/**
 * How blobs are named, so that a large one can be checked piece by piece. A name also fixes the number of bytes.
 *
 * A blob is cut into leaves of 1 MiB. With one leaf, the name is the SHA-256 of the bytes, as any tool prints it. With
 * more, it is SHA-512/256("iota-tree-1" || total bytes, u64 little-endian || SHA-256 of each leaf). The root needs a
 * different function: with SHA-256, those few bytes stored as a blob would have the same name as the large blob that
 * they describe.
 */

import { createHash, type Hash as Digest } from "node:crypto";
import { assert } from "../core/assert.ts";
import { type BlobHash, blobHash, type BlobRef } from "../core/ids.ts";
import { inTurns } from "./turns.ts";

export const leafBytes = 1024 * 1024;
const digestBytes = 32;
const domain = new TextEncoder().encode("iota-tree-1");

/** An empty blob has one empty leaf. */
export const leafCount = (bytes: number): number => Math.max(1, Math.ceil(bytes / leafBytes));

export function leafRange(leaf: number, bytes: number): { start: number; end: number } {
  return { start: leaf * leafBytes, end: Math.min(bytes, (leaf + 1) * leafBytes) };
}

export function hashOf(bytes: Uint8Array): BlobHash {
  return bytes.length <= leafBytes ? leafHashOf(bytes) : rootOf(leafHashesOf(bytes), bytes.length);
}

export function refOf(bytes: Uint8Array): BlobRef {
  return { hash: hashOf(bytes), bytes: bytes.length };
}

const leavesOfTurn = 4; // 2.5 ms each on a slow machine

/** As `refOf`, while the thread keeps serving links. */
export async function nameOf(bytes: Uint8Array): Promise<BlobRef> {
  const digest = new TreeDigest();
  await inTurns({ total: bytes.length, unit: leavesOfTurn * leafBytes }, (start, end) => {
    digest.update(bytes.subarray(start, end));
  });
  return digest.finish().ref;
}

export function leafHashOf(leaf: Uint8Array): BlobHash {
  return blobHash(createHash("sha256").update(leaf).digest("hex"));
}

export function leafHashesOf(bytes: Uint8Array): BlobHash[] {
  return Array.from({ length: leafCount(bytes.length) }, (_, leaf) => {
    const { start, end } = leafRange(leaf, bytes.length);
    return leafHashOf(bytes.subarray(start, end));
  });
}

export function rootOf(leaves: readonly BlobHash[], bytes: number): BlobHash {
  assert(leaves.length === leafCount(bytes), "A blob's leaves must cover its bytes");
  if (leaves.length === 1) return leaves[0]!;
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(bytes), true);
  return blobHash(createHash("sha512-256").update(domain).update(size).update(encodeLeaves(leaves)).digest("hex"));
}

/** The name and size of a blob suffice to prove its leaves, whoever sent them. */
export function areLeavesOf(leaves: readonly BlobHash[], ref: BlobRef): boolean {
  return leaves.length === leafCount(ref.bytes) && rootOf(leaves, ref.bytes) === ref.hash;
}

export class TreeDigest {
  readonly #leaves: BlobHash[] = [];
  #leaf: Digest = createHash("sha256");
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  update(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      const used = this.#bytes % leafBytes;
      if (used === 0 && this.#bytes > 0) this.#closeLeaf(); // not earlier: a blob may end with a full leaf
      const part = chunk.subarray(at, at + leafBytes - used);
      this.#leaf.update(part);
      this.#bytes += part.length;
      at += part.length;
    }
  }

  /** Call once. */
  finish(): { ref: BlobRef; leaves: readonly BlobHash[] } {
    this.#closeLeaf();
    return { ref: { hash: rootOf(this.#leaves, this.#bytes), bytes: this.#bytes }, leaves: this.#leaves };
  }

  #closeLeaf(): void {
    this.#leaves.push(blobHash(this.#leaf.digest("hex")));
    this.#leaf = createHash("sha256");
  }
}

export function encodeLeaves(leaves: readonly BlobHash[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(digestBytes * leaves.length);
  leaves.forEach((leaf, index) => bytes.subarray(digestBytes * index).setFromHex(leaf));
  return bytes;
}

/** Null: not this blob's leaves. */
export function decodeLeaves(bytes: Uint8Array, ref: BlobRef): readonly BlobHash[] | null {
  if (bytes.length !== digestBytes * leafCount(ref.bytes)) return null;
  const leaves = Array.from(
    { length: bytes.length / digestBytes },
    (_, leaf) => blobHash(bytes.subarray(digestBytes * leaf, digestBytes * (leaf + 1)).toHex()),
  );
  return areLeavesOf(leaves, ref) ? leaves : null;
}
