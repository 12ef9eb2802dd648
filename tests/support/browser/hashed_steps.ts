/**
 * Whole training steps of a small model on the processor's backend, and the hash of the parameters after them. It uses nothing
 * but what a browser has, so that other engines can be asked for the same hash.
 */

import { resolveConfig } from "../../../core/settings/parse.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";

const overrides = {
  ...{ "model.vocabSize": 256, "model.width": 64, "model.layers": 2, "model.heads": 4, "model.kvHeads": 2 },
  ...{ "model.ffnWidth": 160, "model.contextLength": 64, "train.sequencesPerMicrobatch": 2 },
  ...{ "pipeline.stages": 1, "train.optimizer": "muon" },
};

/** SHA-256, as hex. All work that can be shared among threads is. */
export async function hashedSteps({ steps, threads }: { steps: number; threads: number }): Promise<string> {
  const resolved = resolveConfig({ size: "tiny", overrides });
  if (!resolved.ok) throw new Error(JSON.stringify(resolved));
  const [spec] = stageSpecs(resolved.config, [2]);
  if (spec === undefined) throw new Error("a model of one stage has one");
  const { model: { vocabSize, contextLength }, train: { optimizer = null } } = resolved.config;
  const stage = await createCpuStage(spec, { optimizer, threads }, { sharing: { leastNs: 0, leastRangeNs: 0 } });
  await stage.loadParameters(initialParameters(parameterTable(spec), 1));
  for (let step = 0; step < steps; step++) {
    const tokens = Uint32Array.from({ length: 2 * contextLength }, (_, i) => (i * 7 + step * step) % vocabSize);
    await stage.turnaround({ type: "tokens", tokens }, tokens);
    await stage.gradientSquareSum();
    await stage.step({
      learningRate: 3e-3,
      gradientScale: 1,
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      weightDecay: 0.1,
    });
  }
  const bytes = new Uint8Array(bytesOfFloats(await stage.readParameters())); // a copy, as digests take no shared memory
  stage.close();
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
