/**
 * WGSL text of the three matrix products of a linear layer, unrolled by this generator because naga guards every loop.
 *
 * Rules that make results independent of the chosen tile: each output is one chain of explicit `fma` over ascending K that
 * starts at zero; what is already in the output, or the residual, is added once at the end. No dot(), no split K, no atomics.
 *
 * Sizes come from a uniform, so one pipeline serves every shape: measured on llvmpipe as fast as baked sizes, with 3 shader
 * compilations (0.14 s each) instead of 15. They arrive divided by four: naga's guarded integer division hides from Mesa that
 * an address is the same in all lanes, which made products 6x slower.
 */

import { directSource } from "./gemm_direct.ts";
import type { GemmKind, GemmSettings } from "./gemm_settings.ts";
import { sharedSource } from "./gemm_shared.ts";

/** A change of what any setting compiles to: what was measured before no longer counts (../tuning/tuned.ts). */
export const gemmGeneration = 2;

/** Bindings: a, b, c, [residual for `forward`], shape. */
export function gemmSource(kind: GemmKind, settings: GemmSettings): string {
  return settings.family === "direct" ? directSource(kind, settings) : sharedSource(kind, settings);
}
