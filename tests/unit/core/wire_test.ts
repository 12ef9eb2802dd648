/**
 * The promises of every wire codec, in both directions: lengths, offsets, faults and scales, and bytes that never change.
 *
 * A new codec is in the table that these tests walk. What they ask for it by name is its entry in tests/vectors/wires.json;
 * bytes that differ from a published entry are another codec and need another name.
 */

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { WireDirection, WireShape } from "../../../core/codec/codec.ts";
import { type Codec, codecNames, type GradientBits } from "../../../core/codec/codec_names.ts";
import { codecs } from "../../../core/codec/codecs.ts";
import { parseRunConfig, resolveConfig } from "../../../core/settings/parse.ts";
import {
  decodeWire,
  encodeWire,
  type Wire,
  wireBytes,
  wireFault,
  wireRounding,
  wireScale,
  type WireSpec,
} from "../../../core/codec/wire.ts";
import { wiresApart } from "../../../core/codec/wire_apart.ts";
import { wiresOfRun } from "../../../core/model/boundaries.ts";
import type { PipelineShape } from "../../../core/model/shape.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { taskOutput } from "../../../core/model/stage_wires.ts";
import { prngOf } from "../../support/small_prng.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";

const directions: readonly WireDirection[] = ["forward", "gradient"];
const wires: readonly Wire[] = codecNames.flatMap((codec) => wiresOf(codec, { rows: 16, width: 8 }));

/** One of each direction, and gradients in the other numbers of bits that a run may choose. */
function wiresOf(codec: Codec, shape: WireShape): Wire[] {
  const { gradientFormats } = codecs[codec];
  const chosen = gradientFormats === undefined ? [] : ([4, 5, 6, 7] as const);
  return [
    ...directions.map((direction): Wire => ({ codec, direction, ...shape })),
    ...chosen.map((gradientBits): Wire => ({ codec, direction: "gradient", gradientBits, ...shape })),
  ];
}

const nameOf = ({ codec, direction, gradientBits }: Wire) => [codec, direction, gradientBits].join(" ").trim();

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
  readonly bytes: Readonly<Record<string, string>>; // by direction, "gradient 4" in codes of 4 bits
}

Deno.test("Wires: every codec's bytes are the published ones, in both directions", () => {
  const file = new URL("../../vectors/wires.json", import.meta.url);
  const vectors: Record<string, WireVector> = JSON.parse(Deno.readTextFileSync(file));
  assertEquals(Object.keys(vectors).sort(), [...codecNames].sort(), "a codec has frozen bytes, and stays when it has");
  for (const [codec, { rows, width, values, bytes }] of Object.entries(vectors)) {
    const bits = values.map((value) => typeof value === "string" ? Number(value) : bitsOf(value));
    const floats = new Float32Array(Uint32Array.from(bits).buffer);
    const ways = wiresOf(codec as Codec, { rows, width });
    const encoded = ways.map((wire) => [nameOf(wire).slice(codec.length + 1), encodeWire(wire, floats).toHex()]);
    assertEquals(Object.fromEntries(encoded), bytes, codec);
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
    assertThrows(() => encodeWire(wire, new Float32Array(3)), Error, "got 3");
    assertThrows(() => decodeWire(wire, bytes.subarray(1)), Error, `got ${bytes.length - 1}`);
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

Deno.test("Wires: bytes of a peer have a finite scale exactly where their consumer would take them", () => {
  const below = prngOf(7);
  for (
    const wire of wires.flatMap((each) => each.direction === "forward" ? [each, { ...each, vocabSize: 9 }] : [each])
  ) {
    const answers = [0, 0];
    for (let round = 0; round < 200; round++) {
      const bytes = encodeWire(wire, someValues(wire, below), new Uint32Array(wire.rows).fill(8));
      for (let i = below(4); i > 0; i--) bytes[below(bytes.length)] = below(2) === 0 ? 0 : below(256);
      const isTaken = wireFault(wire, bytes) === null;
      assertEquals(Number.isFinite(wireScale(wire, bytes).rms), isTaken, `${nameOf(wire)} ${bytes.toHex()}`);
      answers[isTaken ? 0 : 1]! += 1;
    }
    assert(answers[0]! > 0, nameOf(wire));
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

Deno.test("Wires: the run's bits of gradients reach every wire of codes, and only these; left out they are 8", () => {
  const pipeline = { codec: "q5block", bottleneckWidth: 24, stages: 4, boundaries: "1=none, 3=iota:24" } as const;
  const wiresWith = (own: Partial<PipelineShape>) =>
    wiresOfRun(tinyConfig({ model: { layers: 4 }, pipeline: { ...pipeline, ...own } }));
  const [none, codes, iota] = wiresWith({});
  assertEquals(wiresWith({ gradientBits: 8 }), [none!, codes!, iota!]);
  assertEquals(wiresWith({ gradientBits: 4 }), [none!, { ...codes!, gradientBits: 4 }, iota!]);
  const bytesOf = (spec: WireSpec) => directions.map((direction) => wireBytes({ ...spec, direction, rows: 128 }) / 128);
  assertEquals([4, 5, 6, 8].map((gradientBits) => bytesOf({ ...codes!, gradientBits: gradientBits as GradientBits })), [
    [16, 13],
    [16, 16],
    [16, 19],
    [16, 25],
  ]);
  assertEquals(bytesOf(codes!), [16, 25]);
  const wire = (gradientBits: GradientBits): Wire => ({ ...codes!, gradientBits, direction: "gradient", rows: 128 });
  const bytes = encodeWire(wire(8), new Float32Array(128 * 24).fill(1));
  assertEquals(wireFault(wire(4), bytes)?.code, "badNumbers", "8 bits are no 4");
});

Deno.test("Wires: a run of codes of 4 bits back has this in its configuration, of 8 nothing; 3 and 9 are refused", () => {
  const resolved = (gradientBits: number) =>
    resolveConfig({ size: "toy", overrides: { "pipeline.gradientBits": gradientBits } });
  const bits = [4, 5, 8].map((each) => {
    const found = resolved(each);
    assert(found.ok);
    const parsed = parseRunConfig(JSON.parse(JSON.stringify(found.config)));
    assert(parsed.ok);
    assertEquals(parsed.value, found.config);
    return found.config.pipeline.gradientBits;
  });
  assertEquals(bits, [4, 5, undefined]);
  for (const wrong of [3, 9, 4.5]) assert(!resolved(wrong).ok, `${wrong}`);
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
