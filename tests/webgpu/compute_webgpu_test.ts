/** The WebGPU stage against the float64 reference and PyTorch's training, with the kernels that this adapter gets. */

import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { computeSuite, onePerCodec } from "../conformance/compute_suite.ts";
import { trainingSuite } from "../conformance/training_suite.ts";
import { isWhole } from "../support/whole.ts";
import { activationBytes, openWith, skip, tolerances } from "./webgpu_stages.ts";

const open = openWith({ activationBytes });

computeSuite("webgpu", open, { skip, ...(isWhole ? {} : { only: onePerCodec, optimizers: [defaultOptimizer] }) });
trainingSuite("webgpu", open, { skip, tolerances, ...(isWhole ? {} : { steps: 5 }) });
