/**
 * Settings that were measured on this machine before, by adapter, and when they hold.
 *
 * They come from a file, so they are checked against the adapter's limits. They hold as long as the texts of kernels are the same
 * (`gemmGeneration`); the runtime's version and the file are the caller's. Results have the same bits with any settings.
 */

import { fitsLimits, type GemmChoice, gemmKinds } from "../generate/gemm_settings.ts";
import type { GpuDevice } from "../device.ts";
import { type KernelSettings, kernelsFor } from "../ops.ts";

export type TunedGemms = Readonly<Record<string, GemmChoice>>; // by the adapter's name

export function tunedKernels(gpu: GpuDevice, tuned: TunedGemms): KernelSettings {
  const { adapter: { name }, device: { limits } } = gpu;
  const standard = kernelsFor(gpu);
  const gemm = Object.hasOwn(tuned, name) ? tuned[name] : undefined;
  const isUsable = gemm !== undefined &&
    gemmKinds.every((kind) => gemm[kind].length > 0 && gemm[kind].every((settings) => fitsLimits(settings, limits)));
  return isUsable ? { ...standard, gemm } : standard;
}
