/**
 * Tests that need a WebGPU adapter. Without one they are reported as ignored by name, and the reason is printed once.
 *
 * Owns one device for all tests of a file: shaders compile once. A test that breaks its device opens its own.
 */

import { type GpuDevice, NoAdapterError, openGpuDevice } from "../../gpu/webgpu/device.ts";
import { Kernels } from "../../gpu/webgpu/kernel.ts";
import { testWhere } from "./test_where.ts";
import { isWhole } from "./whole.ts";

export interface GpuSupport {
  readonly gpu: GpuDevice;
  readonly kernels: Kernels;
}

const opened: GpuSupport | NoAdapterError = await open();

async function open(): Promise<GpuSupport | NoAdapterError> {
  try {
    const gpu = await openGpuDevice();
    return { gpu, kernels: new Kernels(gpu) };
  } catch (error) {
    if (!(error instanceof NoAdapterError)) throw error;
    return error;
  }
}

/** Why GPU tests cannot run here, or null. */
export const noGpuReason: string | null = opened instanceof NoAdapterError ? "no WebGPU adapter" : null;

/** For the body of a test that is ignored when `noGpuReason` is not null. */
export function gpuSupport(): GpuSupport {
  if (opened instanceof NoAdapterError) throw opened;
  return opened;
}

export function gpuTest(name: string, body: (support: GpuSupport) => Promise<void>): void {
  testWhere(noGpuReason, name, () => body(gpuSupport()));
}

/** Compiles so many kernels that it runs in `make sim` only. */
export function slowGpuTest(name: string, body: (support: GpuSupport) => Promise<void>): void {
  if (isWhole) gpuTest(name, body);
}
