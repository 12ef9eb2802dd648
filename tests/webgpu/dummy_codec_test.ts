/** The wire codec that only the tests know, on WebGPU; a software driver takes long to build its stages. */

import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { checkDummyStages } from "../conformance/dummy_codec_stages.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { isWhole } from "../support/whole.ts";

if (isWhole) {
  gpuTest(
    "A new codec: three stages on WebGPU compute what its reference does",
    ({ gpu, kernels }) => checkDummyStages((spec) => createWebGpuStage(gpu, spec, { kernels })),
  );
}
