/** The kernels for real GPUs, on a few shapes: a software adapter runs them correctly, only slowly. */

import { hardwareKernels } from "../../gpu/webgpu/ops.ts";
import { aFew, computeSuite } from "./compute_suite.ts";
import { trainingSuite } from "./training_suite.ts";
import { activationBytes, openWith, skip, tolerances } from "./webgpu_stages.ts";

const open = openWith({ activationBytes, settings: hardwareKernels });

computeSuite("webgpu, kernels for real GPUs", open, { skip, only: aFew });
trainingSuite("webgpu, kernels for real GPUs", open, { skip, tolerances });
