/**
 * The WebGPU stage against the float64 reference, with both kernel families: the one this adapter gets, and the one for real
 * GPUs on a few shapes (a software adapter runs it correctly, only slowly).
 */

import { hardwareKernels } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../gpu/webgpu/webgpu_stage.ts";
import { gpuSupport, noGpuReason } from "../support/gpu_adapter.ts";
import { computeSuite } from "./compute_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

computeSuite("webgpu", (spec) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, activationBytes });
}, { skip: noGpuReason });

computeSuite("webgpu, kernels for real GPUs", (spec) => {
  const { gpu, kernels } = gpuSupport();
  return createWebGpuStage(gpu, spec, { kernels, settings: hardwareKernels, activationBytes });
}, { skip: noGpuReason, only: ["whole model", "receives and sends", "4:1 heads"] });
