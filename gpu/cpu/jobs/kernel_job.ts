/** A kernel on a range of rows or bytes: its first arguments move from unit to unit, the next counts. */

import { type CpuKernels, kernelNames } from "../kernels/cpu_kernels.ts";
import type { Job, Operation } from "./job.ts";

export interface KernelCall {
  readonly name: keyof CpuKernels;
  readonly moving: readonly (readonly [start: number, step: number])[]; // step 0: the same for all units
  readonly count: { readonly total: number; readonly ofUnit: number };
  readonly rest?: readonly number[];
  readonly unitNs: number;
}

export function kernelJob({ name, moving, count: { total, ofUnit }, rest = [], unitNs }: KernelCall): Job {
  const starts = moving.map(([start]) => start);
  const steps = moving.map(([, step]) => step);
  return {
    operation: "kernel",
    numbers: [kernelNames.indexOf(name), moving.length, total, ofUnit, ...starts, ...steps, ...rest],
    units: Math.ceil(total / ofUnit),
    unitNs,
  };
}

export const runKernel: Operation = ({ kernels }, numbers) => {
  const [index, moving, total, ofUnit] = numbers as [number, number, number, number];
  const kernel = kernels[kernelNames[index]!];
  const starts = numbers.slice(4, 4 + moving);
  const steps = numbers.slice(4 + moving, 4 + 2 * moving);
  const rest = numbers.slice(4 + 2 * moving);
  return (from, to) => {
    const own = starts.map((start, i) => start + from * steps[i]!);
    kernel(...own, Math.min(total, to * ofUnit) - from * ofUnit, ...rest);
  };
};
