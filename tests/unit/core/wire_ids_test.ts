/** Ids of tokens that cross with a wire's values: bytes, faults, and that they are nobody's numbers. */

import { assertEquals, assertThrows } from "@std/assert";
import { codecNames } from "../../../core/codec/codec_names.ts";
import {
  decodeWire,
  encodeWire,
  valuesOfWire,
  type Wire,
  wireBytes,
  wireFault,
  wireIds,
  wireScale,
  withoutIds,
} from "../../../core/codec/wire.ts";
import { haveSameIds, wiresApart } from "../../../core/codec/wire_apart.ts";
import { wireAt } from "../../../core/model/boundaries.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import { specAt, specsOf, tinyConfig } from "../../support/tiny_model.ts";

const shape = { direction: "forward", rows: 10, width: 8 } as const;
const wires = codecNames.flatMap((codec): Wire[] => [
  { codec, ...shape, vocabSize: 4096, sideWidth: 8 },
  { codec, ...shape, vocabSize: 128_256, sideWidth: 8 },
]);
const idsOf = ({ vocabSize = 1 }: Wire) => Uint32Array.from({ length: shape.rows }, (_, i) => (i * 7919) % vocabSize);
const values = Float32Array.from({ length: shape.rows * shape.width }, (_, i) => Math.sin(i));

Deno.test("Wire ids: they follow the values, in 2 bytes up to 65,536 tokens and 3 beyond, and change no value", () => {
  for (const wire of wires) {
    const bytes = encodeWire(wire, values, idsOf(wire));
    const plain = encodeWire(withoutIds(wire), values);
    assertEquals(bytes.length, wireBytes(wire));
    assertEquals(bytes.length - plain.length, wire.vocabSize === 4096 ? 20 : 32, "10 ids, to whole words");
    assertEquals(valuesOfWire(wire, bytes), plain);
    assertEquals(wireIds(wire, bytes), idsOf(wire));
    assertEquals(decodeWire(wire, bytes), decodeWire(withoutIds(wire), plain));
    assertEquals(wireScale(wire, bytes), wireScale(withoutIds(wire), plain));
    assertEquals(wireFault(wire, bytes), null);
    assertThrows(() => encodeWire(wire, values), Error, "10 rows needs as many ids");
  }
});

Deno.test("Wire ids: their bytes never change", () => {
  const shapes = { codec: "q5block", direction: "forward", rows: 3, width: 8, sideWidth: 4 } as const;
  const bytesWith = (vocabSize: number, ids: number[]) => {
    const wire: Wire = { ...shapes, vocabSize };
    const bytes = encodeWire(wire, new Float32Array(24), Uint32Array.from(ids));
    return bytes.subarray(wireBytes(withoutIds(wire))).toHex();
  };
  assertEquals(bytesWith(65_536, [1, 0x0203, 0xffff]), "01000302ffff0000");
  assertEquals(bytesWith(65_600, [1, 0x0203, 0x1003f]), "0100000302003f0001000000");
});

Deno.test("Wire ids: an id of no token and set padding are a fault and make the scale infinite", () => {
  for (const wire of wires) {
    const bytes = encodeWire(wire, values, idsOf(wire));
    const wrong = encodeWire(wire, values, idsOf(wire).with(4, wire.vocabSize!));
    assertEquals(wireFault(wire, wrong)?.code, "badNumbers");
    assertEquals(wireScale(wire, wrong), { largest: Infinity, rms: Infinity });
    if (wire.vocabSize === 4096) continue; // no padding
    const padded = bytes.with(bytes.length - 1, 1);
    assertEquals(wireFault(wire, padded)?.code, "badNumbers");
  }
});

Deno.test("Wire ids: two results of a task whose ids differ are as far apart as can be", () => {
  for (const wire of wires) {
    const bytes = encodeWire(wire, values, idsOf(wire));
    const other = encodeWire(wire, values, idsOf(wire).with(9, 1));
    assertEquals([haveSameIds(wire, [bytes, bytes]), haveSameIds(wire, [bytes, other])], [true, false]);
    assertEquals([wiresApart(wire, [bytes, bytes]), wiresApart(wire, [bytes, other])], [0, 2]);
  }
});

Deno.test("Wire ids: gradients have none, and a run without sides has none at all", () => {
  const config = tinyConfig({ pipeline: { codec: "q5block", sideWidth: 8 } });
  const { input, inputGradient } = stageWires(specAt(specsOf(config), 1));
  assertEquals(wireIds(inputGradient!, new Uint8Array(wireBytes(inputGradient!))), null);
  const plain = stageWires(specAt(specsOf(tinyConfig({ pipeline: { codec: "q5block" } })), 1));
  assertEquals(wireBytes(inputGradient!), wireBytes(plain.inputGradient!));
  assertEquals(wireBytes(input!) - wireBytes(plain.input!), 2 * input!.rows);
  assertEquals(wireAt(tinyConfig({ pipeline: { codec: "q5block" } }), 1).vocabSize, undefined);
});
