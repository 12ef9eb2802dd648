/** Whether a file of settings is a run's or a node's: a run's has tables, or settings that only runs have. */

import { isKnobPath, knobGroups } from "../../core/config/knobs.ts";

export function isRunFile(table: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(table).some(([name, value]) =>
    isKnobPath(name) || knobGroups.includes(name) || (typeof value === "object" && value !== null)
  );
}
