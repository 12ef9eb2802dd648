/** A miner's signed receipt of a step, as the orchestrator keeps it. */

import type { StepReceipt } from "./statement.ts";
import type { WorkPath } from "./work_tree.ts";

/** As received: the signature is checked when it matters. */
export interface HeldReceipt extends Omit<StepReceipt, "type"> {
  readonly signature: string;
}

/** A receipt, and the position of a task in it. */
export interface TaskReceipt {
  readonly receipt: HeldReceipt;
  readonly path: WorkPath;
}
