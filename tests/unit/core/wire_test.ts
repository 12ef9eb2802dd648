/**
 * The promises of every wire codec, in both directions: lengths, offsets, faults and scales, and bytes that never change.
 *
 * A new codec is in the table that these tests walk. What they ask for it by name is its entry in tests/vectors/wires.json;
 * bytes that differ from a published entry are another codec and need another name.
 */

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { type Codec, codecNames } from "../../../core/codec/codec_names.ts";
import { codecs } from "../../../core/codec/codecs.ts";
import { resolveConfig } from "../../../core/config/parse.ts";
import {
  decodeWire,
  encodeWire,
  type Wire,
  wireBytes,
  wireFault,
  wireRounding,
  wireScale,
} from "../../../core/codec/wire.ts";
import { wiresApart } from "../../../core/codec/wire_apart.ts";
import { wiresOfRun } from "../../../core/model/boundaries.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { taskOutput } from "../../../core/model/stage_wires.ts";
import { prngOf } from "../../support/small_prng.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";

const directions: readonly WireDirection[] = ["forward", "gradient"];
const wires: readonly Wire[] = codecNames.flatMap((codec) =>
  directions.map((direction): Wire => ({ codec, direction, rows: 16, width: 8 }))
);

const nameOf = ({ codec, direction }: Wire) => `${codec} ${direction}`;

function shifted(bytes: Uint8Array, by: number): Uint8Array {
  const frame = new Uint8Array(bytes.length + by);
  frame.set(bytes, by);
  return frame.subarray(by);
}

function someValues(wire: Wire, below: (n: number) => number): Float32Array {
  return Float32Array.from(
    { length: wire.rows * wire.width },
    () => (below(2_000) - 1_000) * 10 ** (below(60) - 30),
  );
}

interface WireVector {
  readonly rows: number;
  readonly width: number;
  readonly values: readonly (number | string)[]; // float32 as JSON has them; other bit patterns in hexadecimal
  readonly bytes: Readonly<Record<WireDirection, string>>;
}

Deno.test("Wires: every codec's bytes are the published ones, in both directions", () => {
  const file = new URL("../../vectors/wires.json", import.meta.url);
  const vectors: Record<string, WireVector> = JSON.parse(Deno.readTextFileSync(file));
  assertEquals(Object.keys(vectors).sort(), [...codecNames].sort(), "a codec has frozen bytes, and stays when it has");
  for (const [codec, { rows, width, values, bytes }] of Object.entries(vectors)) {
    const bits = values.map((value) => typeof value === "string" ? Number(value) : bitsOf(value));
    const floats = new Float32Array(Uint32Array.from(bits).buffer);
    for (const direction of directions) {
      const encoded = encodeWire({ codec: codec as Codec, direction, rows, width }, floats);
      assertEquals(encoded.toHex(), bytes[direction], `${codec} ${direction}`);
    }
  }
});

function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0]!;
}

Deno.test("Wires: what is decoded encodes to the same bytes, or to what rounding allows, from any offset", () => {
  const below = prngOf(5);
  for (const wire of wires) {
    const bytes = encodeWire(wire, someValues(wire, below));
    const values = decodeWire(wire, bytes);
    assertEquals(bytes.length, wireBytes(wire), nameOf(wire));
    for (const by of [0, 1, 3]) {
      assertEquals(decodeWire(wire, shifted(bytes, by)), values, nameOf(wire));
      const again = encodeWire(wire, values);
      if (wireRounding(wire).valuesHit === 1) assertEquals(again, bytes, nameOf(wire));
      else assertEquals(wiresApart(wire, [again, bytes]), 0, nameOf(wire)); // a row's scale may become smaller
    }
  }
});

Deno.test("Wires: our own values and bytes of a wrong length are a bug, a peer's are a fault", () => {
  for (const wire of wires) {
    const bytes = encodeWire(wire, new Float32Array(wire.rows * wire.width).fill(1));
    assertThrows(() => encodeWire(wire, new Float32Array(3)), Error, "current value is 3");
    assertThrows(() => decodeWire(wire, bytes.subarray(1)), Error, `current value is ${bytes.length - 1}`);
    assertEquals(wireFault(wire, bytes), null);
    assertEquals(wireFault(wire, bytes.subarray(1))?.code, "badNumbers");
    assertEquals(wireScale(wire, bytes.subarray(1)), { largest: 0, rms: 0 }, "no values, no scale");
  }
});

Deno.test("Wires: NaN and infinity anywhere are a fault and make the scale infinite; the largest finite value does not", () => {
  for (const wire of wires) {
    const finite = new Float32Array(wire.rows * wire.width).fill(1e-40);
    finite[5] = -3e38;
    assertEquals(wireFault(wire, encodeWire(wire, finite)), null, nameOf(wire));
    for (const bad of [NaN, Infinity, -Infinity]) {
      for (const at of [0, 40, finite.length - 1]) {
        const bytes = encodeWire(wire, finite.with(at, bad));
        assertEquals(wireFault(wire, bytes)?.code, "badNumbers", nameOf(wire));
        assertEquals(wireScale(wire, bytes), { largest: Infinity, rms: Infinity }, nameOf(wire));
      }
    }
    const huge = wireScale(wire, encodeWire(wire, finite.fill(3e38)));
    assert(Number.isFinite(huge.largest) && Math.abs(huge.rms / huge.largest - 1) < 1e-12, JSON.stringify(huge));
  }
});

Deno.test("Wires: largest value and root mean square are those of the decoded values", () => {
  const below = prngOf(3);
  for (const wire of wires) {
    for (let round = 0; round < 50; round++) {
      const bytes = encodeWire(wire, someValues(wire, below));
      const read = [...decodeWire(wire, bytes)];
      const { largest, rms } = wireScale(wire, shifted(bytes, 1));
      assertEquals(largest, Math.max(...read.map(Math.abs)));
      const expected = Math.sqrt(read.reduce((sum, value) => sum + value * value, 0) / read.length);
      assertAlmostEquals(rms / (expected || 1), expected === 0 ? 0 : 1, 1e-12);
    }
    assertEquals(wireScale(wire, encodeWire(wire, new Float32Array(wire.rows * wire.width))), { largest: 0, rms: 0 });
  }
});

Deno.test("Wires: a run's codec says how many values a token has, and a backward answers with a gradient", () => {
  for (const codec of codecNames) {
    const config = tinyConfig({ pipeline: { codec, bottleneckWidth: 24, stages: 3 } });
    const width = codecs[codec].wireWidth(config);
    const [head, body, tail] = specsOf(config);
    for (const spec of [head!, body!]) {
      assertEquals(taskOutput(spec, "forward"), { codec, width, direction: "forward", rows: 32 });
    }
    assertEquals(taskOutput(body!, "backward"), { codec, width, direction: "gradient", rows: 32 });
    assertEquals(taskOutput(tail!, "turnaround"), { codec, width, direction: "gradient", rows: 32 });
    assertEquals(taskOutput(head!, "backward"), null);
  }
});

Deno.test("Wires: a boundary may have a codec and a width of its own, and both its stages know", () => {
  const pipeline = { codec: "q5block", bottleneckWidth: 8, stages: 4, boundaries: "1=none, 3=iota:24" } as const;
  const config = tinyConfig({ model: { layers: 4 }, pipeline });
  const expected = [
    { codec: "none", width: config.model.width },
    { codec: "q5block", width: 8 },
    { codec: "iota", width: 24 },
  ] as const;
  for (const boundaries of ["1=none, 3=iota:24", "1=none,3=iota:24", "3=iota:24 1=none"]) {
    assertEquals(wiresOfRun(tinyConfig({ model: { layers: 4 }, pipeline: { ...pipeline, boundaries } })), [
      ...expected,
    ]);
  }
  const specs = specsOf(config);
  assertEquals(specs.map(({ wireIn }) => wireIn), [null, ...expected]);
  assertEquals(specs.map(({ wireOut }) => wireOut), [...expected, null]);
  const encoders = specs.map((spec) => parameterTable(spec).tensors.filter(({ name }) => name.includes("boundary")));
  assertEquals(encoders.map((tensors) => tensors.map(({ shape }) => shape)), [
    [],
    [[8, config.model.width]],
    [[config.model.width, 8], [24, config.model.width]],
    [[config.model.width, 24]],
  ]);
});

for (
  const [name, boundaries, rule] of [
    ["a boundary before the first stage", "0=none", "boundaries with a codec each"],
    ["a boundary behind the last stage", "3=none", "there is no 3"],
    ["two codecs", "1=none, 1=iota", "1 has two"],
    ["an odd width", "1=iota:10", "multiple of 4"],
    ["more values than the model is wide", "1=iota:4096", "at most model.width"],
    ["a width where none is", "1=none:8", "leave out"],
    ["an unknown codec", "1=zip", "boundaries with a codec each"],
    ["a flood", "1=none,".repeat(200), "at most 1024 characters"],
  ] as const
) {
  Deno.test(`Wires: ${name} in pipeline.boundaries is refused with the rule`, () => {
    const overrides = { "model.layers": 3, "pipeline.stages": 3, "pipeline.boundaries": boundaries };
    const resolved = resolveConfig({ size: "toy", overrides });
    assert(!resolved.ok);
    assertStringIncludes(JSON.stringify(resolved.problems), rule);
  });
}
