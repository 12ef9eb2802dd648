/**
 * Whether a stage fits an adapter: the production code builds it on a paper device with the adapter's limits, which
 * counts bytes and computes nothing.
 */

import type { StageSpec } from "../../../core/model/spec.ts";
import type { StageOptions } from "../../compute.ts";
import { type DeviceLimits, GpuDevice } from "../device.ts";
import { createWebGpuStage } from "./webgpu_stage.ts";

interface GpuFit {
  readonly bytes: number; // all buffers, as far as it got
  readonly problem: Error | null; // a TooLargeError, or a dispatch too wide; null: it fits
}

export interface GpuLimits {
  readonly limits: DeviceLimits;
  readonly isSoftware: boolean; // decides the kernels
}

export async function fitGpuStage(
  spec: StageSpec,
  { limits, isSoftware }: GpuLimits,
  options: StageOptions = {},
): Promise<GpuFit> {
  const paper = new PaperDevice(limits);
  const gpu = new GpuDevice(paper as unknown as GPUDevice, { // nothing else is used before the first task
    adapter: { device: "webgpu", name: "paper", isSoftware },
    features: [],
  });
  try {
    const stage = await createWebGpuStage(gpu, spec, options);
    stage.close();
    return { bytes: paper.bytes, problem: null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { bytes: paper.bytes, problem: error };
  }
}

class PaperDevice {
  bytes = 0;
  readonly limits: DeviceLimits;
  readonly lost = new Promise<never>(() => {});
  readonly queue = {
    writeBuffer() {},
    submit() {},
    onSubmittedWorkDone: () => Promise.resolve(),
  };

  constructor(limits: DeviceLimits) {
    this.limits = limits;
  }

  createBuffer({ label, size }: { label: string; size: number }) {
    this.bytes += size;
    return { label, size, destroy() {} };
  }

  createComputePipeline() {
    return { getBindGroupLayout: () => ({}) };
  }

  createCommandEncoder() {
    const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups() {}, end() {} };
    return { beginComputePass: () => pass, clearBuffer() {}, finish: () => ({}) };
  }

  popErrorScope() {
    return Promise.resolve(null);
  }

  createShaderModule() {}
  createBindGroup() {}
  pushErrorScope() {}
  addEventListener() {}
  destroy() {}
}
