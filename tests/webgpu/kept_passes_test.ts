/** Forwards kept for their backward: which forward gets a pass, when it is free again, and that a stage really uses it. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { KeptPasses } from "../../gpu/kept_passes.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

Deno.test("Kept passes: the oldest stay, a backward frees its pass, and a change of parameters all of them", () => {
  const passes = new KeptPasses("spare", ["one", "two"]);
  const [first, second] = [passes.keep("a"), passes.keep("b")];
  assertEquals([first, second].toSorted(), ["one", "two"]);
  assertEquals([passes.keep("c"), passes.keep("a"), passes.keep(undefined)], ["spare", "spare", "spare"]);
  assertEquals([passes.take("c"), passes.take(undefined)], [null, null]);
  assertEquals([passes.take("a"), passes.take("a")], [first, null]);
  assertEquals([passes.keep("c"), passes.take("b")], [first, second]);
  passes.forget();
  assertEquals(passes.take("c"), null);
  assertEquals([passes.keep("d"), passes.keep("e")].toSorted(), ["one", "two"]);
});

Deno.test("Kept passes: the spare has the forward that it ran last, until it is used again", () => {
  const passes = new KeptPasses("spare", []);
  for (
    const between of [
      () => passes.keep("b"),
      () => passes.keep(undefined),
      () => passes.take("b"),
      passes.forget.bind(passes),
    ]
  ) {
    passes.keep("a");
    between();
    assertEquals(passes.take("a"), null);
  }
  passes.keep("a");
  assertEquals([passes.take("a"), passes.take("a")], ["spare", null]);
});

gpuTest(
  "WebGpuStage: a kept forward is not computed again, and without memory for it none is kept",
  async (support) => {
    const { gpu, kernels } = support;
    const spec = specAt(specsOf(tinyConfig({ pipeline: { stages: 2 } })), 0);
    const [own, other] = [0, 1].map((index) => ({ type: "tokens", tokens: tokensOf(spec, index).tokens }) as const);
    assert(own !== undefined && other !== undefined);
    const gradientsOf = async (activationBytes: number) => {
      const stage = await createWebGpuStage(gpu, spec, { kernels, activationBytes });
      await stage.loadParameters(parametersOf(spec));
      const wire = await stage.forward(own, { name: "own" });
      await stage.forward(other);
      await stage.backward(other, wire, { name: "own" }); // a wrong name shows whose activations are used
      const mixed = await stage.readGradients();
      await stage.zeroGradients();
      await stage.backward(other, wire);
      const computedAgain = await stage.readGradients();
      stage.close();
      return { mixed, computedAgain };
    };
    const without = await gradientsOf(0);
    assertEquals(without.mixed, without.computedAgain);
    const kept = await gradientsOf(2 ** 20);
    assertNotEquals(kept.mixed, kept.computedAgain);
  },
);
