/** A miner's signed receipt of a step, as the orchestrator holds it. */

import type { StepReceipt } from "./statement.ts";
import type { WorkPath } from "./work_tree.ts";

/** The signature is checked when it matters. */
export interface HeldReceipt extends Omit<StepReceipt, "type"> {
  readonly signature: string;
}

export interface TaskReceipt {
  readonly receipt: HeldReceipt;
  readonly path: WorkPath;
}
