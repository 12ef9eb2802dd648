/**
 * The WebGPU stage against the float64 reference and PyTorch's training, with both kernel families: the one this adapter gets,
 * and the one for real GPUs on a few shapes (a software adapter runs it correctly, only slowly).
 */

import { defaultOptimizer } from "../../core/train/optimizer_names.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage, type WebGpuStageOptions } from "../../gpu/webgpu/webgpu_stage.ts";
import { gpuSupport, noGpuReason } from "../support/gpu_adapter.ts";
import { computeSuite, type OpenStage } from "./compute_suite.ts";
import { type TraceTolerances, trainingSuite } from "./training_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few
const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

/** About five times the largest of what was measured on three drivers (tests/bench/LOG.md, 2026-11-22). */
const tolerances: TraceTolerances = {
  none: { losses: 5e-6, norms: 3e-5, firstLogits: 2e-6, lastLogits: 4e-5, gradients: 5e-6, changes: 4e-5 },
  iota: { losses: 4e-7, norms: 4e-6, firstLogits: 1e-6, lastLogits: 3e-6, gradients: 5e-6, changes: 2e-5 },
};

const openWith = (options: Omit<WebGpuStageOptions, "kernels" | "optimizer">): OpenStage => (spec, optimizer) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, optimizer, ...options });
};
const open = openWith({ activationBytes });
const openForRealGpus = openWith({ activationBytes, settings: hardwareKernels });
const skip = noGpuReason;
const aFew = ["whole model", "receives and sends", "4:1 heads"];

computeSuite("webgpu", open, { skip });
computeSuite("webgpu, kernels for real GPUs", openForRealGpus, { skip, only: aFew });

trainingSuite("webgpu", open, { skip, tolerances });
trainingSuite("webgpu, kernels for real GPUs", openForRealGpus, { skip, tolerances });

for (const settings of [softwareKernels, hardwareKernels]) {
  const family = settings === softwareKernels ? "" : ", kernels for real GPUs";
  const openInParts = openWith({ partBytes, settings });
  computeSuite(`webgpu, vectors in parts${family}`, openInParts, { skip, optimizers: [defaultOptimizer], only: aFew });
}
