/** One operation on the processor: a closure over fixed addresses. */

import type { BufferRange, Dispatch } from "../stage_ops.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";

export interface CpuDispatch extends Dispatch {
  readonly run: () => void;
}

/** A call of a kernel whose first arguments are addresses. */
export function kernelDispatch(
  kernels: CpuKernels,
  { name, ranges, numbers }: {
    readonly name: keyof CpuKernels;
    readonly ranges: readonly BufferRange[];
    readonly numbers: readonly number[];
  },
): CpuDispatch {
  const kernel = kernels[name];
  const values = [...ranges.map(({ offset }) => offset), ...numbers];
  return { label: name, run: () => kernel(...values) };
}
