/** Words for values of records that more than one view shows. */

import type { RunRecord } from "../../core/protocol/record.ts";

/** Where a stage's parameters came from. */
export const restoredFrom: Readonly<Record<Extract<RunRecord, { type: "stageRestored" }>["from"], string>> = {
  stored: "they were in the store after all",
  replica: "from a replica",
  checkpoint: "from the checkpoint",
  neighbours: "from the stages beside it",
  initial: "from the seed",
};
