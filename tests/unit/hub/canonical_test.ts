/** Canonical bytes: one value, one sequence of bytes; what is read is what was written; other bytes are refused. */

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { CanonicalError, readCanonical } from "../../../cli/orchestrator/journal/canonical_reader.ts";
import { CanonicalWriter } from "../../../cli/orchestrator/journal/canonical_writer.ts";
import { isSameState } from "../../support/same_state.ts";
import { keyOf, nextBelow, openStream, type Stream } from "../../../core/prng.ts";
import { cases } from "../../support/whole.ts";

const hex = (bytes: Uint8Array) => bytes.toHex();
const write = (value: unknown) => new CanonicalWriter().write(value);

/** Frozen: a change of any of these is another version. */
const vectors: readonly (readonly [unknown, string])[] = [
  [undefined, "0100"],
  [null, "0101"],
  [false, "0102"],
  [true, "0103"],
  [0, "0180"],
  [127, "01ff"],
  [128, "01058001"],
  [2 ** 53 - 1, "0105ffffffffffffff0f"],
  [-1, "010600"],
  [1 - 2 ** 53, "0106feffffffffffff0f"],
  [-0, "01040000000000000080"],
  [0.5, "0104000000000000e03f"],
  [2 ** 53, "01040000000000004043"],
  [NaN, "0104000000000000f87f"],
  [Infinity, "0104000000000000f07f"],
  [-Infinity, "0104000000000000f0ff"],
  ["", "010700"],
  ["aé", "010761e9".replace("0107", "010702")],
  ["€\ud800", "010802ac2000d8"],
  [["a", "a"], "010b020701610900"],
  [new Uint8Array([1, 255]), "010a0201ff"],
  [new Map([["b", 1], ["a", 2]]), "010c0207016281070161" + "82"],
  [new Set([2, 1]), "010d028281"],
  [{ b: 1, a: undefined }, "010e02070161070162" + "0081"],
  [[{ b: 1, a: 2 }, { a: 3, b: 4 }], "010b020e02070161070162" + "8281" + "0f008384"],
];

Deno.test("Canonical bytes: frozen vectors are written and read", () => {
  for (const [value, bytes] of vectors) {
    assertEquals(hex(write(value)), bytes);
    assertEquals(readCanonical(Uint8Array.fromHex(bytes)), value, bytes); // tells -0 from 0, and absent from undefined
  }
});

Deno.test("Canonical bytes: the order of keys and sharing do not matter, the order of a map does", () => {
  const ref = { hash: "x", bytes: 1 };
  assertEquals(write([ref, ref]), write([{ bytes: 1, hash: "x" }, { hash: "x", bytes: 1 }]));
  assertNotEquals(write(new Map([[1, 1], [2, 2]])), write(new Map([[2, 2], [1, 1]])));
  assertNotEquals(write({ a: undefined }), write({}));
  const patterns = [[0, 0, 0, 0, 0, 0, 0xf8, 0xff], [1, 0, 0, 0, 0, 0, 0xf0, 0x7f]];
  for (const pattern of patterns) {
    const nan = new DataView(new Uint8Array(pattern).buffer).getFloat64(0, true);
    assertEquals(write(nan), write(NaN), "engines differ in the pattern of NaN");
  }
});

Deno.test("Canonical bytes: a writer that wrote other values before writes the same", () => {
  const writer = new CanonicalWriter();
  for (let seed = 1; seed <= 300; seed++) {
    const value = drawn(openStream(keyOf(seed, "canonical")), 4);
    const bytes = writer.write(value);
    assertEquals(bytes, write(value));
    const back = readCanonical(bytes);
    assertEquals(write(back), bytes, `seed ${seed}`);
    assertEquals(back, value, `seed ${seed}`);
  }
  assertThrows(() => writer.write({ a: [1, { b: () => {} }] }));
  assertEquals(writer.write({ b: 1 }), write({ b: 1 }), "also after a value that it refused");
});

function drawn(stream: Stream, depth: number): unknown {
  const below = (limit: number) => nextBelow(stream, limit);
  const several = <T>(make: () => T): T[] => Array.from({ length: below(5) }, make);
  const text = () => String.fromCharCode(...several(() => below(8) === 0 ? below(65536) : 97 + below(4)));
  const each = () => drawn(stream, depth - 1);
  switch (below(depth > 0 ? 11 : 6)) {
    case 0:
      return [undefined, null, true, false][below(4)];
    case 1:
      return below(300) - 150;
    case 2:
      return (below(2 ** 30) - 2 ** 29) * 2 ** below(60);
    case 3:
      return [NaN, -0, Infinity, -Infinity, 0.1, 1e300][below(6)];
    case 4:
      return text().repeat(below(10) === 0 ? 50 : 1);
    case 5:
      return new Uint8Array(several(() => below(256)));
    case 6:
      return several(each);
    case 7:
      return new Map(several(() => [text(), each()]));
    case 8:
      return new Set(several(() => text()));
    default:
      return Object.fromEntries(several(() => [text(), each()]));
  }
}

Deno.test("Canonical bytes: objects with identity come back as one, cycles among them too", () => {
  const writer = new CanonicalWriter((keys) => keys.includes("id"));
  const a: Record<string, unknown> = { id: 1, ref: null };
  const b = { id: 1, ref: a };
  a["ref"] = b;
  const value = { list: [a, b, a], twin: { id: 1, ref: null } };
  const back = readCanonical(writer.write(value));
  assert(isSameState(back, value));
  assertEquals(writer.write(back), writer.write(value));
});

Deno.test("Canonical bytes: what is not plain data is refused, and so is a cycle", () => {
  class Thing {}
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const refused = [() => {}, 1n, Symbol(), new Thing(), new Date(), new Float32Array(1), cycle];
  for (const value of [...refused, JSON.parse('{"__proto__": 1}')]) assertThrows(() => write([value]));
});

Deno.test("Canonical bytes: other bytes are refused with a sentence, whatever they are", () => {
  const whole = write([{ a: 1, b: "text" }, new Map([["k", new Uint8Array(9)]]), { b: 2, a: -300 }, 0.5, "text"]);
  for (let end = 0; end < whole.length; end++) {
    assertThrows(() => readCanonical(whole.subarray(0, end)), CanonicalError);
  }
  assertThrows(() => readCanonical(new Uint8Array([...whole, 0])), CanonicalError, "bytes follow the end of the value");
  assertThrows(() => readCanonical(new Uint8Array([0xff, 0x0f])), CanonicalError, "the version must be 1, but is 255");
  for (let seed = 1; seed <= cases(3000); seed++) {
    const stream = openStream(keyOf(seed, "canonical damage"));
    const damaged = whole.slice();
    for (let i = 1 + nextBelow(stream, 3); i > 0; i--) {
      damaged[nextBelow(stream, whole.length)] = nextBelow(stream, 256);
    }
    try {
      readCanonical(damaged);
    } catch (error) {
      assert(error instanceof CanonicalError, `seed ${seed}: ${error}`);
    }
  }
});
