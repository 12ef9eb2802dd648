/** The processor's backend against the float64 reference. */

import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { defaultOptimizer } from "../../core/train/optimizer_names.ts";
import { computeSuite } from "./compute_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

computeSuite("cpu", (spec, optimizer) => createCpuStage(spec, { optimizer, activationBytes }));

const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

computeSuite("cpu, vectors in parts", (spec, optimizer) => createCpuStage(spec, { optimizer, partBytes }), {
  optimizers: [defaultOptimizer],
});
