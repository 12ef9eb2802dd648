/**
 * The wire codec seam, passed through by a codec that only this test knows (tests/support/dummy_codec.ts): bytes that are not
 * width times a constant, a gradient unlike its wire, parameters at both ends, no kernels for its bytes. Nothing but three lines
 * in three tables is changed for it.
 */

import { assert, assertEquals } from "@std/assert";
import { codecNames } from "../../core/codec/codec_names.ts";
import { codecs } from "../../core/codec/codecs.ts";
import { decodeWire, encodeWire, wireBytes, wireFault, wireScale } from "../../core/codec/wire.ts";
import { neededFrameBytes } from "../../core/settings/derive.ts";
import { boundaryParameters, parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { splitLayers, stageFlopsPerToken } from "../../core/model/stages.ts";
import { stageWires, wiresOfDirection } from "../../core/model/stage_wires.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { describeSettings } from "../../cli/orchestrator/run/describe_run.ts";
import { readInput } from "../../cli/roles/stage_input.ts";
import { withDummyCodec } from "../support/dummy_codec.ts";
import { specsOf } from "../support/tiny_model.ts";
import { checkDummyStages, dummyConfig as config } from "./dummy_codec_stages.ts";

const [rows, wide, narrow] = [32, 64, 32];

Deno.test("A new codec: sizes, parameters, costs and words of a run follow from its record", () =>
  withDummyCodec(() => {
    const forward = rows * (4 + narrow);
    const gradient = rows * (narrow / 4) * 6;
    assertEquals(wiresOfDirection(config, "forward").map(wireBytes), [forward, forward]);
    assertEquals(wiresOfDirection(config, "gradient").map(wireBytes), [gradient, gradient]);
    assertEquals(neededFrameBytes(config), config.limits.headerBytes + 3 * Math.max(forward, gradient));
    assertEquals(boundaryParameters(config), 2 * wide * narrow);
    assertEquals(splitLayers(config), [1, 1, 1]);
    const [head, body] = specsOf(config) as [StageSpec, StageSpec];
    const boundary = parameterTable(body).tensors.filter(({ name }) => name.startsWith("model.boundary."));
    assertEquals(boundary.map(({ name, shape }) => [name, shape]), [
      ["model.boundary.1.widen.weight", [wide, narrow]],
      ["model.boundary.2.narrow.weight", [narrow, wide]],
    ]);
    const perEnd = 2 * wide * narrow;
    assertEquals(stageFlopsPerToken(body).forward - stageFlopsPerToken(head).forward, perEnd - wide);
    assert(describeSettings(config)[1]!.includes("codec dummy with 32 codes per token"), describeSettings(config)[1]);
  }));

Deno.test("A new codec: a peer's wire is judged and measured by its record, each direction by its own", () =>
  withDummyCodec(() => {
    const [, body] = specsOf(config);
    const { input, inputGradient } = stageWires(body!);
    assert(input !== null && inputGradient !== null);
    const values = Float32Array.from({ length: rows * narrow }, (_, i) => Math.sin(i));
    for (const wire of [input, inputGradient]) {
      const bytes = encodeWire(wire, values);
      assertEquals([bytes.length, wireFault(wire, bytes)], [wireBytes(wire), null]);
      const { largest } = wireScale(wire, bytes);
      assertEquals(largest, decodeWire(wire, bytes).reduce((most, value) => Math.max(most, Math.abs(value)), 0));
      assertEquals(wireFault(wire, encodeWire(wire, values.with(7, NaN)))?.code, "badNumbers");
    }
    assertEquals(wireFault(input, encodeWire(inputGradient, values))?.code, "badNumbers", "one is not the other");
    assert(readInput(body!, encodeWire(input, values)).ok);
  }));

Deno.test("A new codec: three stages on the processor compute what its reference does", () =>
  checkDummyStages((spec) => createCpuStage(spec)));

Deno.test("A new codec: the tables are as before", () => {
  assertEquals(Object.keys(codecs), [...codecNames]);
});
