/** The processor's backend against the float64 reference and PyTorch's training. */

import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { pairedStage } from "../support/paired_stage.ts";
import { isWhole } from "../support/whole.ts";
import { cacheSuite } from "./cache_suite.ts";
import { aFew, computeSuite, onePerCodec, type OpenStage } from "./compute_suite.ts";
import { type TraceTolerances, trainingSuite } from "./training_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

/** About four times what was measured (tests/lab/LOG.md, 2026-11-22). */
const tolerances: TraceTolerances = {
  none: { losses: 3e-6, norms: 2e-5, firstLogits: 2e-6, lastLogits: 2e-5, gradients: 5e-6, changes: 2e-5 },
  iota: { losses: 2e-7, norms: 1e-6, firstLogits: 1e-6, lastLogits: 2e-6, gradients: 3e-6, changes: 2e-5 },
};

const open: OpenStage = (spec, optimizer) => createCpuStage(spec, { optimizer, activationBytes });

computeSuite("cpu", open, isWhole ? {} : { only: [...aFew, ...onePerCodec], onlyOthers: aFew });
trainingSuite("cpu", open, { tolerances });

const partBytes = 2 ** 14; // 64 rows of 64: every matrix but those of attention comes in parts

computeSuite("cpu, vectors in parts", (spec, optimizer) => createCpuStage(spec, { optimizer, partBytes }), {
  optimizers: [defaultOptimizer],
  ...(isWhole ? {} : { only: ["receives and sends", "tail, codec resbm, side"] }),
});

/** Every operation is shared, however small, and has the bits that one thread gives it, which the first suite has judged. */
const sharing = { leastNs: 0, leastRangeNs: 0 };

for (const threads of isWhole ? [2, 3] : [3]) {
  computeSuite(`cpu, ${threads} threads as one`, async (spec, optimizer) => {
    const shared = await createCpuStage(spec, { optimizer, activationBytes, threads }, { sharing });
    return pairedStage(await open(spec, optimizer), shared);
  }, {
    oracle: open,
    ...(isWhole ? {} : { only: ["receives and sends", "head, codec q4block"], optimizers: [defaultOptimizer] }),
  });
}

cacheSuite("cpu", createCpuStage);
cacheSuite("cpu, 2 threads", (spec, options) => createCpuStage(spec, { ...options, threads: 2 }, { sharing }), {
  only: ["q5block, side"],
});
