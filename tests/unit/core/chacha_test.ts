/** Secret randomness: the block of RFC 8439, keys made of a key, and streams that draw from them. */

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { chacha20, derivedKey, hexOfKey, secretKeyOf } from "../../../core/chacha.ts";
import { nextUint32, openStream } from "../../../core/prng.ts";

const counting = Uint8Array.from({ length: 32 }, (_, i) => i);

Deno.test("ChaCha20: the test vector of RFC 8439, section 2.3.2", () => {
  const out = new Uint32Array(16);
  chacha20(secretKeyOf(counting), { counter: 1, nonce: [0x09000000, 0x4a000000, 0] }, out);
  const expected = "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 " +
    "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2";
  assertEquals([...out].map((word) => word.toString(16).padStart(8, "0")).join(" "), expected);
});

Deno.test("ChaCha20: a key is 32 bytes, shown in their order", () => {
  assertEquals(hexOfKey(secretKeyOf(counting)), counting.toHex());
  assertThrows(() => secretKeyOf(new Uint8Array(31)), Error, "32 bytes");
});

Deno.test("ChaCha20: every number has its own key", () => {
  const key = secretKeyOf(counting);
  const keys = [0, 1, 2, 2 ** 32, 2 ** 40].map((index) => hexOfKey(derivedKey(key, index)));
  assertEquals(new Set([...keys, hexOfKey(key)]).size, 6);
});

Deno.test("Stream: with a secret key the words are ChaCha20's blocks in order, and the state survives JSON", () => {
  const key = derivedKey(secretKeyOf(counting), 3);
  const stream = openStream(key);
  const words = Array.from({ length: 33 }, () => nextUint32(stream));
  const block = new Uint32Array(16);
  for (let i = 0; i < 2; i++) {
    chacha20(key, { counter: i, nonce: [0, 0, 0] }, block);
    assertEquals(words.slice(16 * i, 16 * i + 16), [...block]);
  }
  const revived = JSON.parse(JSON.stringify(stream));
  assertEquals(nextUint32(revived), nextUint32(stream));
  assert(stream.counter === 34);
  assertNotEquals(nextUint32(openStream(derivedKey(secretKeyOf(counting), 4))), words[0]);
});
