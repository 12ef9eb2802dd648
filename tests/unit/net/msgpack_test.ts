/** The header codec: what passes unchanged and what a peer cannot smuggle in. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decodeMsgpack, encodeMsgpack } from "../../../net/messages/msgpack.ts";

const limits = { maxBytes: 1_000_000, maxDepth: 8, maxValues: 1_000_000 };

function roundTrip(value: unknown): unknown {
  const decoded = decodeMsgpack(encodeMsgpack(value), limits);
  assert(decoded.ok, decoded.ok ? "" : decoded.fault.detail);
  return decoded.value;
}

function problem(bytes: number[] | Uint8Array): string {
  const decoded = decodeMsgpack(Uint8Array.from(bytes), limits);
  assert(!decoded.ok, "must be refused");
  return decoded.fault.detail;
}

Deno.test("Msgpack: numbers at every boundary of the format survive", () => {
  const edges = [5, 7, 8, 15, 16, 31, 32, 52, 53].flatMap((power) => [2 ** power - 1, 2 ** power, 2 ** power + 1]);
  const numbers = [0, 0.1, -1.5, Infinity, -Infinity, NaN, 5e-324, ...edges, ...edges.map((edge) => -edge)];
  for (const value of numbers) assert(Object.is(roundTrip(value), value), String(value));
});

Deno.test("Msgpack: strings, arrays and maps of every length class survive", () => {
  for (const length of [0, 1, 15, 16, 23, 24, 31, 32, 255, 256, 65_535, 65_536]) {
    assertEquals(roundTrip("é".repeat(length)), "é".repeat(length));
    assertEquals(roundTrip("a".repeat(length)), "a".repeat(length));
    const array = Array.from({ length }, (_, index) => index);
    assertEquals(roundTrip(array), array);
    const map = Object.fromEntries(array.map((index) => [`k${index}`, index]));
    assertEquals(roundTrip(map), map);
  }
});

Deno.test("Msgpack: small values have the format's shortest bytes", () => {
  assertEquals(
    encodeMsgpack({ a: [1, -1, 200, null, true, "x"] }).toHex(),
    "81a16196" + "01" + "ff" + "ccc8" + "c0" + "c3" + "a178",
  );
  assertEquals(encodeMsgpack({ a: undefined, b: 1 }).toHex(), "81a16201");
});

Deno.test("Msgpack: extension types, binary and timestamps are refused", () => {
  for (const tag of [0xc1, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]) {
    assertStringIncludes(problem([tag, 0, 0, 0, 0, 0, 0, 0, 0]), "is not allowed");
  }
});

Deno.test("Msgpack: keys that name a prototype, repeat or are not strings are rejected", () => {
  const map = (key: string) => [0x81, 0xa0 | key.length, ...new TextEncoder().encode(key), 1];
  for (const key of ["__proto__", "constructor", "prototype"]) {
    assertStringIncludes(problem(map(key)), "is not allowed");
  }
  assertStringIncludes(problem([0x82, 0xa1, 97, 1, 0xa1, 97, 2]), "repeated");
  assertStringIncludes(problem([0x81, 1, 1]), "not a string");
});

Deno.test("Msgpack: depth, claimed lengths, trailing and missing bytes are refused before they cost anything", () => {
  assertStringIncludes(problem(new Uint8Array(100_000).fill(0x91)), "deeper than 8");
  assertStringIncludes(problem([0xdd, 0xff, 0xff, 0xff, 0xff]), "claims 4294967295 entries");
  assertStringIncludes(problem([0xdf, 0xff, 0xff, 0xff, 0xff]), "claims 4294967295 entries");
  assertStringIncludes(problem([0xdb, 0xff, 0xff, 0xff, 0xff]), "too early");
  assertStringIncludes(problem([1, 2]), "1 bytes follow");
  assertStringIncludes(problem([]), "too early");
  assertStringIncludes(problem([0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0]), "beyond 2^53");
  assertStringIncludes(problem([0xa2, 0xc3, 0x28]), "not UTF-8");
  assertEquals(decodeMsgpack(new Uint8Array(11), { ...limits, maxBytes: 10 }).ok, false);
});
