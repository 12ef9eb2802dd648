/** One operation on the processor: a closure over fixed addresses. */

import type { BufferRange, Dispatch } from "../stage_ops.ts";
import type { Job } from "./jobs/job.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import type { Team } from "./threads/team.ts";

export interface CpuDispatch extends Dispatch {
  readonly run: () => void;
}

export function jobDispatch(team: Team, label: string, job: Job): CpuDispatch {
  return { label, run: () => team.run(job) };
}

/** Too short to share between threads. Addresses come first. */
export function kernelDispatch(
  { kernels }: Team,
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
