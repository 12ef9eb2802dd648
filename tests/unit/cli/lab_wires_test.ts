/** What a lab does to wires: the control that says nothing, and codes of other bits than the run's. */

import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import { codedBytes, codedWires } from "../../../cli/lab/coded_wires.ts";
import { zeroWires } from "../../../cli/lab/zero_wires.ts";
import { gradientCodes, wireCodes } from "../../../core/codec/q_block.ts";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { decodeWire, type Wire } from "../../../core/codec/wire.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import type { ComputeHost, HostedStage } from "../../../cli/roles/compute_host.ts";
import { referenceHost } from "../../support/swarm/local_swarm.ts";
import { parametersOf, specsOf, tinyConfig, type TinyOverrides, tokensOf } from "../../support/tiny_model.ts";

async function pathOn(host: ComputeHost, pipeline: TinyOverrides["pipeline"]): Promise<HostedStage[]> {
  const stages: HostedStage[] = [];
  for (const spec of specsOf(tinyConfig({ pipeline: { ...pipeline } }))) {
    const stage = await host.openStage(spec);
    await stage.loadParameters(parametersOf(spec));
    stages.push(stage);
  }
  return stages;
}

/** One microbatch through three stages and back. */
async function passed([head, body, tail]: readonly HostedStage[], microbatch: number) {
  const { tokens, targets } = tokensOf(head!.spec, microbatch);
  const first = { type: "tokens", tokens } as const;
  const sent = await head!.forward(first);
  const second = { type: "wire", wire: sent } as const;
  const third = { type: "wire", wire: await body!.forward(second) } as const;
  const { lossPerSequence, gradient } = await tail!.turnaround(third, targets);
  const back = await body!.backward(second, gradient!);
  assertEquals(await head!.backward(first, back!), null);
  return { sent, back: back!, losses: [...lossPerSequence], evaluated: [...await tail!.evaluate(third, targets)] };
}

const squareSums = (path: readonly HostedStage[]) => Promise.all(path.map((stage) => stage.gradientSquareSum()));
const [head] = specsOf(tinyConfig());

Deno.test("Zero wires: no stage before the tail learns, and the tail hears nothing of the input", async () => {
  const path = await pathOn(zeroWires(referenceHost()), { codec: "none" });
  const one = await passed(path, 0);
  const other = await passed(path, 1);
  assertEquals(one.sent.length, 4 * 2 * 16 * 64, "as many bytes as codec none sends");
  assertEquals([one.sent, one.back], [other.sent, other.back]);
  assertEquals(one.losses, one.evaluated);
  const [ofHead, ofBody, ofTail] = await squareSums(path);
  assertEquals([ofHead, ofBody], [0, 0]);
  assert(ofTail! > 0, "the tail learns what it can");

  const { targets } = tokensOf(head!);
  const tail = path.at(-1)!;
  const said = (value: number) => ({ type: "wire", wire: one.sent.map(() => value) }) as const;
  assertEquals(await tail.evaluate(said(0), targets), await tail.evaluate(said(60), targets), "whatever is sent");
  assertEquals(await tail.logitsAt(said(0), 3), await tail.logitsAt(said(60), 9), "and wherever");
});

Deno.test("Zero wires: a model of one stage has no wire, and is as it was", async () => {
  const config = tinyConfig({ pipeline: { stages: 1 } });
  const [spec] = specsOf(config);
  const { tokens, targets } = tokensOf(spec!);
  const losses = [];
  for (const host of [referenceHost(), zeroWires(referenceHost())]) {
    const stage = await host.openStage(spec!);
    await stage.loadParameters(parametersOf(spec!));
    losses.push(await stage.evaluate({ type: "tokens", tokens }, targets));
  }
  assertEquals(losses[1], losses[0]);
});

/** The most different magnitudes that a token's values have. */
function mostMagnitudes(wire: Wire, bytes: Uint8Array): number {
  const values = decodeWire(wire, bytes).map(Math.abs);
  const rows = Array.from({ length: wire.rows }, (_, i) => values.subarray(i * wire.width, (i + 1) * wire.width));
  return Math.max(...rows.map((row) => new Set(row).size));
}

Deno.test("Coded wires: each direction has the codes of its bits, and the other stays", async () => {
  const pipeline = { codec: "iota", bottleneckWidth: 32 } as const;
  const { output, inputGradient } = stageWires(specsOf(tinyConfig({ pipeline }))[1]!);
  const magnitudes = async (codes: Parameters<typeof codedWires>[1]) => {
    const { sent, back } = await passed(await pathOn(codedWires(referenceHost(), codes), pipeline), 0);
    return { sent, ofWire: mostMagnitudes(output!, sent), ofGradient: mostMagnitudes(inputGradient!, back) };
  };
  const plain = await magnitudes({ forward: null, gradient: null });
  assert(plain.ofWire > 24 && plain.ofGradient > 24, JSON.stringify([plain.ofWire, plain.ofGradient]));
  const forward = await magnitudes({ forward: wireCodes(3), gradient: null });
  assert(forward.ofWire <= 4 && forward.ofGradient > 24, "3 bits: a sign and 4 magnitudes");
  const back = await magnitudes({ forward: null, gradient: gradientCodes(4) });
  assertEquals(back.sent, plain.sent);
  assert(back.ofGradient <= 8, "4 bits: a sign and 0 to 7");
  assertNotEquals(forward.sent, plain.sent);
});

Deno.test("Coded wires: 5 bits forward and 8 back are codec q5block's wires, to the rounding of bfloat16", async () => {
  const codes = { forward: wireCodes(5), gradient: gradientCodes() };
  const ends = { bottleneckWidth: 32 } as const;
  const byLab = await passed(await pathOn(codedWires(referenceHost(), codes), { ...ends, codec: "iota" }), 0);
  const own = await passed(await pathOn(referenceHost(), { ...ends, codec: "q5block" }), 0);
  const wireOf = (codec: "iota" | "q5block", direction: WireDirection): Wire => ({
    ...{ codec, direction, rows: 32, width: 32 },
  });
  const [first, second] = [
    decodeWire(wireOf("iota", "forward"), byLab.sent),
    decodeWire(wireOf("q5block", "forward"), own.sent),
  ];
  const isNear = (value: number, i: number) => Math.abs(value - second[i]!) <= 2 ** -8 * Math.abs(second[i]!);
  assert(first.every((value) => value !== 0));
  assert(first.filter(isNear).length > 0.98 * first.length, "but for values at the edge of two codes");
  byLab.losses.forEach((loss, i) => assertAlmostEquals(loss, own.losses[i]!, 0.01));
});

Deno.test("Coded wires: their bytes are those of the codes, or of the run's codec", () => {
  const wire = { codec: "iota", direction: "gradient", rows: 32, width: 24 } as const;
  const bytes = [wireCodes(5), gradientCodes(4), null].map((codes) => codedBytes(wire, codes) / 32);
  assertEquals(bytes, [16, 13, 48]);
});
