/** Names of blobs: known values from another implementation, chunks that do not matter, leaves that prove themselves. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import {
  areLeavesOf,
  decodeLeaves,
  encodeLeaves,
  hashOf,
  leafBytes,
  leafHashesOf,
  leafHashOf,
  refOf,
  rootOf,
  TreeDigest,
} from "../../../net/blob_hash.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { prngOf } from "../../support/small_prng.ts";

const counting = (bytes: number) => Uint8Array.from({ length: bytes }, (_, index) => (7 * index + 3) & 255);

Deno.test("Blob names: known values, made with Python's hashlib", () => {
  const known: [number, string][] = [
    [0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    [leafBytes, "172c15dc2e12b50e523d8e657cbe7fbb11c1053252bbf1e1431077d57d8128fd"],
    [leafBytes + 1, "9e62da140584a0e27a8bc2bfb641e75fb3333a8f8f8309a5f87efa9e799ff24a"],
    [3 * leafBytes, "4a14cc8f48c3116e2f3c108009cd8a792e2061191c40b08692a2323ab3aef71d"],
  ];
  for (const [bytes, name] of known) assertEquals(hashOf(counting(bytes)), name, `${bytes} bytes`);
});

Deno.test("Blob names: the chunks in which bytes arrive do not matter", () => {
  const below = prngOf(7);
  for (const size of [0, 1, leafBytes - 1, leafBytes, leafBytes + 1, 2 * leafBytes, 2 * leafBytes + 12_345]) {
    const bytes = varied(size, size);
    for (const longest of [size + 1, 3 * leafBytes, 100_000]) {
      const digest = new TreeDigest();
      for (let at = 0; at < size;) {
        const length = below(longest);
        digest.update(bytes.subarray(at, at += length));
      }
      assertEquals(digest.finish(), { ref: refOf(bytes), leaves: leafHashesOf(bytes) }, `${size} by ${longest}`);
    }
  }
});

Deno.test("Blob names: a leaf list proves itself by name and size, and any change shows", () => {
  const bytes = varied(3 * leafBytes + 5, 1);
  const ref = refOf(bytes);
  const leaves = leafHashesOf(bytes);
  assertEquals(decodeLeaves(encodeLeaves(leaves), ref), leaves);
  assert(!areLeavesOf(leaves, { ...ref, bytes: ref.bytes + 1 }), "another size of as many leaves");
  assert(!areLeavesOf(leaves.slice(1), ref), "one too few");
  assert(!areLeavesOf([leaves[1]!, leaves[0]!, ...leaves.slice(2)], ref), "another order");
  for (const at of [0, 40, 127]) {
    const list = encodeLeaves(leaves);
    list[at]! ^= 1;
    assertEquals(decodeLeaves(list, ref), null);
  }
  assertEquals(decodeLeaves(encodeLeaves(leaves).subarray(1), ref), null);
});

Deno.test("Blob names: a root's input, stored as a blob, has another name", () => {
  const bytes = varied(2 * leafBytes, 1);
  const leaves = leafHashesOf(bytes);
  const list = encodeLeaves(leaves);
  const preimage = new Uint8Array(11 + 8 + list.length);
  preimage.set(new TextEncoder().encode("iota-tree-1"));
  new DataView(preimage.buffer).setBigUint64(11, BigInt(bytes.length), true);
  preimage.set(list, 19);
  for (const small of [list, preimage]) assertNotEquals(hashOf(small), rootOf(leaves, bytes.length));
  assertEquals(hashOf(preimage), leafHashOf(preimage));
});
