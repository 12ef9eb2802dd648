/**
 * The compute suite on the reference itself. The numbers agree with themselves here; what this proves is the state rules,
 * and that the suite runs without a device. Against PyTorch's training the numbers are proven as well.
 */

import { createReferenceStage } from "../lab/reference/stage.ts";
import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { isWhole } from "../support/whole.ts";
import { aFew, computeSuite, type OpenStage } from "./compute_suite.ts";
import { type TraceTolerances, trainingSuite } from "./training_suite.ts";

/** About four times what was measured (tests/lab/LOG.md, 2026-11-22): wires and state at rest are float32. */
const tolerances: TraceTolerances = {
  none: { losses: 5e-7, norms: 7e-6, firstLogits: 3e-7, lastLogits: 4e-6, gradients: 5e-7, changes: 2e-5 },
  iota: { losses: 2e-7, norms: 8e-7, firstLogits: 1e-7, lastLogits: 1e-6, gradients: 1e-7, changes: 2e-5 },
};

const open: OpenStage = (spec, optimizer) => Promise.resolve(createReferenceStage(spec, { optimizer }));

const quick = { only: ["receives and sends"], optimizers: [defaultOptimizer] };

computeSuite("reference", open, isWhole ? { only: aFew } : quick);
trainingSuite("reference", open, { tolerances, ...(isWhole ? {} : { steps: 5 }) });
