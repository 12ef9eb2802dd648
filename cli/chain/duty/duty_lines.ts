/**
 * The weight duty as lines for a validator's owner.
 */

import type { DutyRecord } from "../../../chain/duty/duty.ts";
import { unreachable } from "../../../core/assert.ts";

export function dutyLine(record: DutyRecord): string {
  switch (record.type) {
    case "sent":
      return record.purpose === "reveal"
        ? "weights: revealing"
        : `weights: sending ${record.weights}${record.mode === "plain" ? "" : `, ${record.mode} until their reveal`}`;
    case "landed":
      return `weights: ${record.purpose === "set" ? "landed" : "revealed"} in block ${record.block}, not final yet`;
    case "refused":
      return `weights: refused (${record.refusal.name}): ${record.refusal.sentence}; ${record.refusal.action}`;
    case "unanswered":
      return `weights: no answer (${record.why}); checking on the chain whether they landed`;
    case "lost":
      return record.undoneBlock === null
        ? `weights: ${record.purpose === "set" ? "the call" : "the reveal"} did not land and can no longer do so`
        : `weights: a fork of the chain removed block ${record.undoneBlock} with ${
          record.purpose === "set" ? "the weights" : "the reveal"
        }; they are sent again`;
    case "rowChecked":
      return `weights: those of block ${record.landedBlock} are in force, in a final block`;
    case "rowMissing":
      return `weights: those of block ${record.landedBlock} did not take effect: ${record.why}`;
    default:
      return unreachable(record);
  }
}

/** Only what comes next; the last event already had its own line. */
export const healthLines = (sentences: readonly string[]): readonly string[] =>
  sentences.slice(0, 1).map((text) => `chain: ${text}`);
