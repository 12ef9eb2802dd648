/** The WebGPU stage with vectors that do not fit one binding, in both kernel families, on a few shapes. */

import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { aFew, computeSuite } from "../conformance/compute_suite.ts";
import { isWhole } from "../support/whole.ts";
import { openWith, skip } from "./webgpu_stages.ts";

const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

for (const settings of isWhole ? [softwareKernels, hardwareKernels] : [softwareKernels]) {
  const isSoftware = settings === softwareKernels;
  const family = isSoftware ? "" : ", kernels for real GPUs";
  // Parts are the same for both families: one case shows that they meet.
  const only = !isSoftware ? ["4:1 heads"] : isWhole ? aFew : ["receives and sends"];
  const open = openWith({ partBytes, settings });
  computeSuite(`webgpu, vectors in parts${family}`, open, { skip, optimizers: [defaultOptimizer], only });
}
