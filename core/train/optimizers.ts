/** The table of optimizers, and a run's choice. */

import type { RunConfig } from "../config/config.ts";
import { adamw } from "./adamw.ts";
import { muon } from "./muon.ts";
import type { Optimizer } from "./optimizer.ts";
import { defaultOptimizer, type OptimizerName } from "../config/optimizer_names.ts";

export const optimizers: Readonly<Record<OptimizerName, Optimizer>> = { adamw, muon };

export function optimizerOf({ train }: RunConfig): OptimizerName {
  return train.optimizer ?? defaultOptimizer;
}
