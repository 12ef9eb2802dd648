/** The WebGPU stage with vectors that do not fit one binding, in both kernel families, on a few shapes. */

import { defaultOptimizer } from "../../core/train/optimizer_names.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { computeSuite } from "./compute_suite.ts";
import { aFew, openWith, skip } from "./webgpu_stages.ts";

const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

for (const settings of [softwareKernels, hardwareKernels]) {
  const family = settings === softwareKernels ? "" : ", kernels for real GPUs";
  const open = openWith({ partBytes, settings });
  computeSuite(`webgpu, vectors in parts${family}`, open, { skip, optimizers: [defaultOptimizer], only: aFew });
}
