/**
 * Settings measured on this machine, by adapter. They come from a file, so they are checked against the adapter's
 * limits, and hold for one `gemmGeneration`. They change no bit.
 */

import { fitsLimits, type GemmChoice, gemmKinds } from "../generate/gemm_settings.ts";
import type { GpuDevice } from "../device.ts";
import { type KernelSettings, kernelsFor } from "../ops.ts";

export type TunedGemms = Readonly<Record<string, GemmChoice>>; // by adapter name

export function tunedKernels(gpu: GpuDevice, tuned: TunedGemms): KernelSettings {
  const { adapter: { name }, device: { limits } } = gpu;
  const standard = kernelsFor(gpu);
  const gemm = Object.hasOwn(tuned, name) ? tuned[name] : undefined;
  const isUsable = gemm !== undefined &&
    gemmKinds.every((kind) => gemm[kind].length > 0 && gemm[kind].every((settings) => fitsLimits(settings, limits)));
  return isUsable ? { ...standard, gemm } : standard;
}
