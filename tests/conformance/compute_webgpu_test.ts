/** The WebGPU stage against the float64 reference and PyTorch's training, with the kernels that this adapter gets. */

import { isWhole } from "../support/whole.ts";
import { aFew, computeSuite } from "./compute_suite.ts";
import { trainingSuite } from "./training_suite.ts";
import { activationBytes, openWith, skip, tolerances } from "./webgpu_stages.ts";

const open = openWith({ activationBytes });

computeSuite("webgpu", open, { skip, ...(isWhole ? {} : { onlyOthers: [...aFew, "q5block, both ends"] }) });
trainingSuite("webgpu", open, { skip, tolerances });
