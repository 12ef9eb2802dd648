/** A library as the loop sees it (main.ts), and what all of them are given: the same operands. */

import type { BenchTask, Missing } from "../compute/task.ts";
import type { Repeated } from "../../../../gpu/speed/batch_speed.ts";

export type Backend = "cpu" | "webgpu";

export interface Prepared extends Repeated {
  dispose(): void;
}

export interface Library {
  readonly version: string;
  prepare(task: BenchTask): Promise<Prepared | Missing>;
}

/** Imports a package that packages.json pins; the program's own type check does not know it. */
export async function importPackage<Package>(name: string): Promise<{ library: Package; version: string }> {
  const library: Package = await import(name);
  const [, version = "of unknown version"] = /@(\d[^/]*)\//.exec(pinOf(name)) ?? [];
  return { library, version };
}

/** Where the package was put, e.g. ".../@jax-js/jax/0.1.25/dist/index.js"; its version is in the path. */
function pinOf(name: string): string {
  return import.meta.resolve(name).replace(/\/(\d+\.\d+\.\d+[^/]*)\//, "@$1/");
}

/** Ordinary values: zeros run cooler. */
export function values(count: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, (_, i) => (i % 251) / 251 - 0.5);
}

/** Rows and columns of both operands as they lie in memory, and which of them the product reads transposed. */
export function operandsOf(
  { kind, rows, inWidth, outWidth }: Extract<BenchTask, { type: "gemm" }>,
): { a: [number, number]; b: [number, number]; transposeA: boolean; transposeB: boolean } {
  switch (kind) {
    case "forward":
      return { a: [rows, inWidth], b: [outWidth, inWidth], transposeA: false, transposeB: true };
    case "inputGradient":
      return { a: [rows, outWidth], b: [outWidth, inWidth], transposeA: false, transposeB: false };
    case "weightGradient":
      return { a: [rows, outWidth], b: [rows, inWidth], transposeA: true, transposeB: false };
  }
}

export const gemmFlops = ({ rows, inWidth, outWidth }: Extract<BenchTask, { type: "gemm" }>): number =>
  2 * rows * inWidth * outWidth;
