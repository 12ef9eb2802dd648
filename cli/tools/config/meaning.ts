/** A setting's meaning on one line: its sentence, choices, and unit unless the sentence names it. */

import type { KnobPath } from "../../../core/config/knob.ts";
import { knobAt } from "../../../core/config/knobs.ts";

export function meaningOf(path: KnobPath): string {
  const knob = knobAt(path);
  const doc = knob.doc.replace(/\.$/, "");
  if (knob.kind === "choice") return `${doc}: ${knob.choices.join(", ")}`;
  const isSaid = knob.unit === "" || doc.toLowerCase().includes(knob.unit.split(" ")[0]!);
  return isSaid ? doc : `${doc}, in ${knob.unit}`;
}
