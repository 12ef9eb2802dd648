/**
 * The WebGPU stage against the float64 reference and PyTorch's training, with both kernel families: the one this adapter gets, and the one for real
 * GPUs on a few shapes (a software adapter runs it correctly, only slowly).
 */

import { hardwareKernels, type KernelSettings } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../gpu/webgpu/webgpu_stage.ts";
import { gpuSupport, noGpuReason } from "../support/gpu_adapter.ts";
import { computeSuite, type OpenStage } from "./compute_suite.ts";
import { type TraceTolerances, trainingSuite } from "./training_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

/** About five times the largest of what was measured on three drivers (tests/bench/LOG.md, 2026-11-22). */
const tolerances: TraceTolerances = {
  none: { losses: 5e-6, norms: 3e-5, firstLogits: 2e-6, lastLogits: 4e-5, gradients: 5e-6, changes: 4e-5 },
  iota: { losses: 4e-7, norms: 4e-6, firstLogits: 1e-6, lastLogits: 3e-6, gradients: 5e-6, changes: 2e-5 },
};

const openWith = (settings?: KernelSettings): OpenStage => (spec, optimizer) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, optimizer, activationBytes, ...(settings && { settings }) });
};
const forRealGpus = openWith(hardwareKernels);

computeSuite("webgpu", openWith(), { skip: noGpuReason });
trainingSuite("webgpu", openWith(), { tolerances, skip: noGpuReason });

computeSuite("webgpu, kernels for real GPUs", forRealGpus, {
  skip: noGpuReason,
  only: ["whole model", "receives and sends", "4:1 heads"],
});
trainingSuite("webgpu, kernels for real GPUs", forRealGpus, { tolerances, skip: noGpuReason });
