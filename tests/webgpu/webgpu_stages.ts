/** How the suites of the WebGPU stage open one, and which shapes they take where all would take too long. */

import type { WebGpuStageOptions } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import type { OpenStage } from "../conformance/compute_suite.ts";
import type { TraceTolerances } from "../conformance/training_suite.ts";
import { gpuSupport, noGpuReason } from "../support/gpu_adapter.ts";

export const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few
export const skip = noGpuReason;

/** About five times the largest of what was measured on three drivers (tests/lab/LOG.md, 2026-11-22). */
export const tolerances: TraceTolerances = {
  none: { losses: 5e-6, norms: 3e-5, firstLogits: 2e-6, lastLogits: 4e-5, gradients: 5e-6, changes: 4e-5 },
  iota: { losses: 4e-7, norms: 4e-6, firstLogits: 1e-6, lastLogits: 3e-6, gradients: 5e-6, changes: 2e-5 },
};

export const openWith =
  (options: Omit<WebGpuStageOptions, "kernels" | "optimizer">): OpenStage => (spec, optimizer) => {
    const { gpu, kernels } = gpuSupport();
    return createWebGpuStage(gpu, spec, { kernels, optimizer, ...options });
  };
