/**
 * An operation as data, in units that any thread can compute. A unit's results do not depend on its range, and no two
 * units write the same value, so the number of threads changes no bit.
 */

import type { Gemm } from "../layout/gemm.ts";
import type { CpuKernels } from "../kernels/cpu_kernels.ts";

export const operationNames = [
  ...["kernel", "product", "lowerProduct", "attention", "attentionQueries", "attentionKeys"],
  ...["embed", "embedBackward", "bfloat16Encode", "bfloat16Decode", "codesEncode", "codesDecode"],
  ...["cacheTokens", "attendCache"],
] as const;

export type OperationName = typeof operationNames[number];

export interface Job {
  readonly operation: OperationName;
  readonly numbers: readonly number[]; // at most `mostNumbers`
  readonly units: number;
  readonly unitNs: number; // estimate on one thread
  readonly rangeNs?: number; // beside its units. @default 0
}

export const mostNumbers = 32;

export interface Hand {
  readonly index: number; // from 0
  readonly memory: WebAssembly.Memory;
  readonly kernels: CpuKernels;
  readonly gemm: Gemm;
}

/** Prepared once per job and thread. */
export type Operation = (hand: Hand, numbers: readonly number[]) => Work;

/** Units [from, to). */
export type Work = (from: number, to: number) => void;
