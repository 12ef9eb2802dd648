/** The kernels for real GPUs, on a few shapes: a software adapter runs them correctly, only slowly. */

import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { hardwareKernels } from "../../gpu/webgpu/ops.ts";
import { aFew, computeSuite } from "../conformance/compute_suite.ts";
import { trainingSuite } from "../conformance/training_suite.ts";
import { isWhole } from "../support/whole.ts";
import { activationBytes, openWith, skip, tolerances } from "./webgpu_stages.ts";

const name = "webgpu, kernels for real GPUs";
const open = openWith({ activationBytes, settings: hardwareKernels });
const quick = { only: ["receives and sends"], optimizers: [defaultOptimizer] };

computeSuite(name, open, { skip, ...(isWhole ? { only: aFew } : quick) });
trainingSuite(name, open, { skip, tolerances, ...(isWhole ? {} : { steps: 5 }) });
