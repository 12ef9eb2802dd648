/**
 * One operation of a stage as data: which one, its numbers, and how many units it has, so that any thread can compute
 * a part.
 *
 * Invariant: a unit's results do not depend on the range in which it is computed, and no two units write the same
 * value. So the number of threads changes no bit.
 */

import type { Gemm } from "../layout/gemm.ts";
import type { CpuKernels } from "../kernels/cpu_kernels.ts";

export const operationNames = [
  ...["kernel", "product", "lowerProduct", "attention", "attentionQueries", "attentionKeys"],
  ...["embed", "embedBackward", "bfloat16Encode", "bfloat16Decode", "codesEncode", "codesDecode"],
] as const;

export type OperationName = typeof operationNames[number];

export interface Job {
  readonly operation: OperationName;
  readonly numbers: readonly number[]; // at most `mostNumbers`
  readonly units: number;
  readonly unitNs: number; // about what a unit takes on one thread
  readonly rangeNs?: number; // and a range beside its units. @default 0
}

export const mostNumbers = 32;

/** What one thread computes with. */
export interface Hand {
  readonly index: number; // of the thread, from 0: its part of scratch
  readonly memory: WebAssembly.Memory;
  readonly kernels: CpuKernels;
  readonly gemm: Gemm;
}

/** Prepared once for all ranges of a job that a thread computes. */
export type Operation = (hand: Hand, numbers: readonly number[]) => Work;

/** Units [from, to). */
export type Work = (from: number, to: number) => void;
