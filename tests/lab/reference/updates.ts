/**
 * The table of optimizers as the reference computes them: from a name to one step on a stage's flat vectors.
 */

import { present } from "../../../core/assert.ts";
import type { OptimizerName } from "../../../core/config/optimizer_names.ts";
import { adamw } from "./adamw.ts";
import { muonStep } from "./muon.ts";
import type { ReferenceUpdate } from "./reference_state.ts";

export const referenceUpdates: Readonly<Record<OptimizerName, ReferenceUpdate>> = {
  adamw: ({ table, parameters, vectors, steps }, gradients, options) => {
    const first = present(vectors.get("firstMoments"), "AdamW keeps first moments");
    const second = present(vectors.get("secondMoments"), "AdamW keeps second moments");
    adamw({ parameters, first, second, decayLength: table.decayLength, steps }, gradients, options);
  },
  muon: muonStep,
};
