/** What a lab does to wires: the control that says nothing. */

import { assert, assertEquals } from "@std/assert";
import { zeroWires } from "../../lab/world/zero_wires.ts";
import type { ComputeHost, HostedStage } from "../../../cli/device/compute_host.ts";
import { referenceHost } from "../../lab/world/devices.ts";
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
