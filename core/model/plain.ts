/** Whether a run trains a plain Llama: the model that programs for Llama load without code of ours. */

import { codecs } from "../codec/codecs.ts";
import { wiresOfRun } from "./boundaries.ts";
import type { ModelPlan } from "./shape.ts";

/** What the model has besides a Llama, as part of a sentence; null: nothing. */
export function beyondLlama(plan: Pick<ModelPlan, "model" | "pipeline">): string | null {
  const wires = wiresOfRun(plan);
  const lossy = [...new Set(wires.map(({ codec }) => codec))].filter((codec) => !codecs[codec].keepsStream);
  const parts = [
    ...(lossy.length === 0 ? [] : [`compressed boundaries between its stages (${lossy.join(", ")})`]),
    ...(wires.some(({ sideWidth = 0 }) => sideWidth > 0) ? ["token side embeddings"] : []),
  ];
  return parts.length === 0 ? null : parts.join(" and ");
}
