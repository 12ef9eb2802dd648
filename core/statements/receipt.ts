/** What a miner signed of a step, as the hub keeps it. */

import type { StepReceipt } from "./statement.ts";
import type { WorkPath } from "./work_tree.ts";

/** As it came: the signature is checked when it matters. */
export interface HeldReceipt extends Omit<StepReceipt, "type"> {
  readonly signature: string;
}

/** A receipt, and where a task is in it. */
export interface TaskReceipt {
  readonly receipt: HeldReceipt;
  readonly path: WorkPath;
}
