/** The WebGPU stage against the float64 reference and PyTorch's training, with the kernels that this adapter gets. */

import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { cacheSuite } from "../conformance/cache_suite.ts";
import { gpuSupport } from "../support/gpu_adapter.ts";
import { computeSuite, onePerCodec } from "../conformance/compute_suite.ts";
import { trainingSuite } from "../conformance/training_suite.ts";
import { isWhole } from "../support/whole.ts";
import { activationBytes, openWith, skip, tolerances } from "./webgpu_stages.ts";

const open = openWith({ activationBytes });

computeSuite("webgpu", open, { skip, ...(isWhole ? {} : { only: onePerCodec, optimizers: [defaultOptimizer] }) });
trainingSuite("webgpu", open, { skip, tolerances, ...(isWhole ? {} : { steps: 5 }) });

if (skip === null) {
  cacheSuite("webgpu", (spec, options) => {
    const { gpu, kernels } = gpuSupport();
    return createWebGpuStage(gpu, spec, { kernels, ...options });
  }, isWhole ? {} : { only: ["q5block, side"] });
}
