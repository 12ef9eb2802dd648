/**
 * The WebGPU stage against the float64 reference, with both kernel families: the one this adapter gets, and the one for real
 * GPUs on a few shapes (a software adapter runs it correctly, only slowly).
 */

import { defaultOptimizer } from "../../core/train/optimizer_names.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../gpu/webgpu/webgpu_stage.ts";
import { gpuSupport, noGpuReason } from "../support/gpu_adapter.ts";
import { computeSuite } from "./compute_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

computeSuite("webgpu", (spec, optimizer) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, optimizer, activationBytes });
}, { skip: noGpuReason });

computeSuite("webgpu, kernels for real GPUs", (spec, optimizer) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, settings: hardwareKernels, optimizer, activationBytes });
}, { skip: noGpuReason, only: ["whole model", "receives and sends", "4:1 heads"] });

const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

for (const settings of [softwareKernels, hardwareKernels]) {
  const family = settings === softwareKernels ? "" : ", kernels for real GPUs";
  computeSuite(`webgpu, vectors in parts${family}`, (spec, optimizer) => {
    const { gpu, kernels } = gpuSupport();
    return createWebGpuStage(gpu, spec, { kernels, settings, optimizer, partBytes });
  }, { skip: noGpuReason, optimizers: [defaultOptimizer], only: ["whole model", "receives and sends", "4:1 heads"] });
}
