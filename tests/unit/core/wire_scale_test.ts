/** How large the values of an encoded wire are: against the values themselves, for both encodings and any offset. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { decodeWire, encodeWire } from "../../../core/codec/wire.ts";
import { wireScale } from "../../../core/codec/wire_scale.ts";
import type { WireSpec } from "../../../core/model/spec.ts";
import { prngOf } from "../../support/small_prng.ts";

const wires: readonly WireSpec[] = [{ codec: "none", width: 8, bytesPerValue: 4 }, {
  codec: "iota",
  width: 8,
  bytesPerValue: 2,
}];

Deno.test("Wire scale: largest value and root mean square are those of the decoded values", () => {
  const below = prngOf(3);
  for (const wire of wires) {
    for (let round = 0; round < 50; round++) {
      const values = Float32Array.from(
        { length: 1 + below(300) },
        () => (below(2_000) - 1_000) * 10 ** (below(60) - 30),
      );
      const encoded = encodeWire(wire, values);
      const shifted = new Uint8Array(encoded.length + 1);
      shifted.set(encoded, 1);
      const read = [...decodeWire(wire, encoded)];
      const { largest, rms } = wireScale(wire, [shifted.subarray(1)]);
      assertEquals(largest, Math.max(...read.map(Math.abs)));
      const expected = Math.sqrt(read.reduce((sum, value) => sum + value * value, 0) / read.length);
      assertAlmostEquals(rms / (expected || 1), expected === 0 ? 0 : 1, 1e-12);
    }
  }
});

Deno.test("Wire scale: several segments count as one, and none is zero", () => {
  const [wire] = wires;
  const segments = [Float32Array.of(3, 0), Float32Array.of(-4, 0)].map((values) => encodeWire(wire!, values));
  assertEquals(wireScale(wire!, segments), { largest: 4, rms: 2.5 });
  assertEquals(wireScale(wire!, []), { largest: 0, rms: 0 });
  assertEquals(wireScale(wire!, [encodeWire(wire!, new Float32Array(7))]), { largest: 0, rms: 0 });
});

Deno.test("Wire scale: a NaN or an infinity anywhere makes both infinite; the largest finite value does not", () => {
  for (const wire of wires) {
    for (const bad of [NaN, Infinity, -Infinity]) {
      for (const at of [0, 40, 63]) {
        const values = new Float32Array(64).fill(1);
        values[at] = bad;
        assertEquals(wireScale(wire, [encodeWire(wire, values)]), { largest: Infinity, rms: Infinity });
      }
    }
    const huge = wireScale(wire, [encodeWire(wire, new Float32Array(1_000).fill(3e38))]);
    assert(Number.isFinite(huge.largest) && Math.abs(huge.rms / huge.largest - 1) < 1e-12, JSON.stringify(huge));
  }
});
