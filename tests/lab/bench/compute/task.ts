/**
 * What is measured of ours and of other libraries alike: a product of matrices, attention, a training step.
 *
 * Owns: the tasks as plain data, which travel to a library's process as JSON, and the units in which each is counted.
 */

import type { RunConfig } from "../../../../core/config/config.ts";
import type { AttentionTask } from "../../../../gpu/speed/attention_speed.ts";
import type { GemmTask } from "../../../../gpu/speed/gemm_speed.ts";

/** A model held as one stage, trained with AdamW. */
export interface StepTask {
  readonly model: RunConfig["model"];
  readonly sequences: number; // in a microbatch
  readonly microbatches: number; // in a step
  readonly learningRate: number;
}

export type BenchTask =
  | { readonly type: "gemm" } & GemmTask // in FLOPs, a multiply-add counted as two
  | { readonly type: "attention" } & AttentionTask // in FLOPs (gpu/speed/attention_speed.ts)
  | { readonly type: "step" } & StepTask; // in tokens

/** Units of the task per second. */
export interface Speed {
  readonly perSecond: number;
  readonly perCpuSecond: number; // user and system time of the whole process that computes
}

/** Why there is no speed. */
export interface Missing {
  readonly missing: string; // a sentence's end, in lower case: "is not installed"
}

export const isMissing = (result: Speed | Missing): result is Missing => "missing" in result;

/** What a library's process reads, a line each; it answers each with a `Speed` or `Missing`, after one when it has started. */
export interface LibraryRequest {
  readonly task: BenchTask;
  readonly budgetMs: number;
}

/** The first line of a library's process. */
export type LibraryGreeting = { readonly version: string } | Missing;
