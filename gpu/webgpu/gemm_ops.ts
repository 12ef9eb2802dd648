/**
 * One dispatch of a matrix product: which text of the generator, its bindings, its constants and its workgroups.
 */

import { assert } from "../../core/assert.ts";
import type { BufferRange } from "../stage_ops.ts";
import { gemmSource } from "./generate/gemm.ts";
import { type GemmChoice, type GemmKind, gemmTile, settingsFor } from "./generate/gemm_settings.ts";
import type { GpuDispatch, Kernels } from "./kernel.ts";

export interface GemmOptions {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  /** Floats between stored rows of A, and of C and residual, within wider matrices. */
  readonly aStride?: number | undefined;
  readonly cStride?: number | undefined;
  readonly bindings: readonly BufferRange[];
  /** Adds the residual (`forward`) or what the output holds. */
  readonly adds: boolean;
  /** Skips tiles beyond the diagonal. */
  readonly lowerOnly?: boolean;
}

export function gemm(
  { kernels, choice }: { kernels: Kernels; choice: GemmChoice },
  kind: GemmKind,
  options: GemmOptions,
): GpuDispatch {
  const { rows, columns, depth, bindings, adds, lowerOnly = false } = options;
  const { aStride = kind === "weightGradient" ? rows : depth, cStride = columns } = options;
  assert(
    columns % 4 === 0 && depth % 4 === 0,
    `Cannot multiply: columns ${columns} and depth ${depth} must be multiples of 4`,
  );
  assert(kind !== "weightGradient" || rows % 4 === 0, `Cannot multiply: rows ${rows} must be a multiple of 4`);
  const settings = settingsFor(choice[kind], { rows, columns });
  const tile = gemmTile(settings);
  return kernels.dispatch({
    kernel: { label: `gemm ${kind}`, source: gemmSource(kind, settings) },
    bindings,
    constants: [
      ...[rows, columns, rows >> 2, columns / 4, depth / 4, adds ? 1 : 0, lowerOnly ? 1 : 0],
      ...[aStride / 4, cStride / 4],
    ],
    workgroups: [Math.ceil(columns / tile.columns), Math.ceil(rows / tile.rows)],
  });
}
