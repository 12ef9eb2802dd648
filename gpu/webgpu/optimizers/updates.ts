/**
 * The table of optimizers on the device: from a name to the update of a stage.
 */

import type { OptimizerName } from "../../../core/config/optimizer_names.ts";
import { buildMuon } from "../../optimizers/muon.ts";
import { buildAdamw } from "./adamw.ts";
import { GpuOrthogonalOps } from "../orthogonal_ops.ts";
import type { Update } from "../../stage_vectors.ts";
import type { UpdateParts } from "./gpu_parts.ts";

export const updates: Readonly<Record<OptimizerName, (parts: UpdateParts) => Update>> = {
  adamw: buildAdamw,
  muon: (parts) => buildMuon({ ...parts, orthogonal: new GpuOrthogonalOps(parts.ops), rest: buildAdamw(parts) }),
};
