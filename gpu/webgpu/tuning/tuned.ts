/**
 * Settings that were measured on this machine before, by adapter, and when they hold.
 *
 * They come from a file, so they are checked against the adapter's limits. They hold as long as the texts of kernels are the same
 * (`gemmGeneration`); the runtime's version and the file are the caller's. Results have the same bits with any settings.
 */

import { type GemmChoice, gemmKinds } from "../generate/gemm_settings.ts";
import type { GpuDevice } from "../device.ts";
import { type KernelSettings, kernelsFor } from "../ops.ts";
import { fits } from "./gemm_candidates.ts";

export type TunedGemms = Readonly<Record<string, GemmChoice>>; // by the adapter's name

export function tunedKernels({ adapter, device }: GpuDevice, tuned: TunedGemms): KernelSettings {
  const standard = kernelsFor(adapter);
  const gemm = Object.hasOwn(tuned, adapter.name) ? tuned[adapter.name] : undefined;
  const room = { isSoftware: adapter.isSoftware, limits: device.limits };
  const isUsable = gemm !== undefined &&
    gemmKinds.every((kind) => gemm[kind].length > 0 && gemm[kind].every((settings) => fits(settings, room)));
  return isUsable ? { ...standard, gemm } : standard;
}
