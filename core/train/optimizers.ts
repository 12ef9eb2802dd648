/**
 * The table of optimizers, and which one a run uses.
 *
 * A new optimizer is a file beside `adamw.ts` and a line here, kernels in `gpu/webgpu/optimizers` and `gpu/cpu/updates.ts`, and an oracle in `gpu/reference`, each
 * with a line in the table of its folder. The second optimizer makes the choice a setting of the run: a knob `train.optimizer`
 * whose choices are the keys of this table, read only by `optimizerOf`.
 */

import type { RunConfig } from "../config/config.ts";
import { adamw } from "./adamw.ts";
import type { Optimizer } from "./optimizer.ts";

export type OptimizerName = "adamw";

export const defaultOptimizer: OptimizerName = "adamw";

export const optimizers: Readonly<Record<OptimizerName, Optimizer>> = { adamw };

/** The optimizer of this run. */
export function optimizerOf(_config: RunConfig): OptimizerName {
  return defaultOptimizer;
}
