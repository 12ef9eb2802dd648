/** What a stage takes, planned on paper: held or recomputed, and every size's default stages on a device of 16 GiB. */

import { assert, assertEquals } from "@std/assert";
import { resolveConfig } from "../../../core/settings/parse.ts";
import type { SizeName } from "../../../core/config/size.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import type { FitAdapter } from "../../../gpu/stage_fit.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import { isWhole } from "../../support/whole.ts";

const gibibyte = 2 ** 30;

function adapterWith(bindingBytes: number): FitAdapter {
  return {
    isSoftware: false,
    limits: {
      ...{ maxBufferSize: bindingBytes, maxStorageBufferBindingSize: bindingBytes },
      ...{ maxComputeWorkgroupsPerDimension: 65_535, maxComputeInvocationsPerWorkgroup: 256 },
      maxComputeWorkgroupStorageSize: 16_384,
    },
  };
}

function stagesOf(size: SizeName): StageSpec[] {
  const resolved = resolveConfig({ size });
  assert(resolved.ok);
  return stageSpecs(resolved.config, splitLayers(resolved.config));
}

for (const size of isWhole ? ["1b", "3b", "8b", "15b"] as const : ["1b"] as const) {
  Deno.test(`Stage plan: every default stage of ${size} trains within 16 GiB, in buffers of 2 GiB`, async () => {
    for (const spec of stagesOf(size)) {
      const { fits, bytes, problem } = await planStage(spec, adapterWith(2 * gibibyte - 4), {
        memoryBytes: 16 * gibibyte,
      });
      assert(fits, `stage ${spec.index} takes ${bytes}: ${problem?.message}`);
    }
  });
}

Deno.test("Stage plan: 100m trains in bindings of 128 MiB, and within the processor's 4 GiB", async () => {
  for (const spec of stagesOf("100m")) {
    for (const adapter of [adapterWith(2 ** 27), "cpu"] as const) assert((await planStage(spec, adapter)).fits);
  }
});

Deno.test("Stage plan: activations are held while they fit, computed again when they do not, and the parts add up", async () => {
  const spec = stagesOf("100m")[1]!;
  const roomy = await planStage(spec, "cpu", { memoryBytes: 4 * gibibyte });
  const tight = await planStage(spec, "cpu", { memoryBytes: roomy.bytes - 1 });
  const none = await planStage(spec, "cpu", { memoryBytes: tight.bytes - 1 });
  assertEquals([roomy.recomputes, tight.recomputes, none.recomputes], [false, true, true]);
  assertEquals([roomy.fits, tight.fits, none.fits], [true, true, false]);
  assert(tight.bytes < 0.75 * roomy.bytes, `${tight.bytes} of ${roomy.bytes}`);
  for (const { parts, bytes, parameters } of [roomy, tight]) {
    const { parameters: values, gradients, optimizer, work } = parts;
    assertEquals([values, gradients, optimizer], [4 * parameters, 4 * parameters, 8 * parameters]);
    assertEquals(values + gradients + optimizer + work, bytes);
  }
});
