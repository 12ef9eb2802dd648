/**
 * The table of optimizers, and the choice for a run.
 *
 * A new optimizer is a name in `optimizer_names.ts`, a file beside `adamw.ts` and a line here. The compiler then asks
 * for its update on each device (`gpu/webgpu/optimizers/updates.ts`, `gpu/cpu/updates.ts`) and for its oracle
 * (`tests/lab/reference/updates.ts`).
 */

import type { RunConfig } from "../config/config.ts";
import { adamw } from "./adamw.ts";
import { muon } from "./muon.ts";
import type { Optimizer } from "./optimizer.ts";
import { defaultOptimizer, type OptimizerName } from "../config/optimizer_names.ts";

export const optimizers: Readonly<Record<OptimizerName, Optimizer>> = { adamw, muon };

export function optimizerOf({ train }: RunConfig): OptimizerName {
  return train.optimizer ?? defaultOptimizer;
}
