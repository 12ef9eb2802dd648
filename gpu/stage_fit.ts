/** Whether a stage fits a device: the production code builds it on paper. */

import type { StageSpec } from "../core/model/spec.ts";
import type { StageOptions } from "./compute.ts";
import { bytesOfCpuStage } from "./cpu/cpu_stage.ts";
import { OutOfMemoryError } from "./cpu/layout/memory.ts";
import { fitGpuStage, type GpuLimits } from "./webgpu/stage/gpu_fit.ts";

export type FitAdapter = GpuLimits | "cpu";

interface StageFit {
  readonly bytes: number; // all memory, as far as it got
  readonly problem: Error | null; // TooLargeError, OutOfMemoryError, or a dispatch too wide; null: it fits
}

export async function fitStage(
  spec: StageSpec,
  adapter: FitAdapter,
  options: StageOptions = {},
): Promise<StageFit> {
  if (adapter !== "cpu") return await fitGpuStage(spec, adapter, options);
  try {
    return { bytes: await bytesOfCpuStage(spec, options), problem: null };
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error;
    return { bytes: error.usedBytes, problem: error };
  }
}
