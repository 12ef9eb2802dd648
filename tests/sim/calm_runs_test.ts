/**
 * Calm runs over learning rates up to the largest that a run may have: real arithmetic in virtual time, nobody lies, and nobody may
 * be blamed.
 *
 * Each run is one round of 30 steps in which every step is opened and its gradient repeated, where an honest miner's is furthest
 * off; every fourth run's validator computes by other kernels than its miners. CALM=n runs n of them (default 4), each with a seed
 * and a rate of its own. A failure names both.
 */

import { assert, assertEquals } from "@std/assert";
import { runLab } from "../lab/world/run_lab.ts";
import { configOf, patience } from "../lab/world/lab_settings.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { gradientTolerance } from "../../core/score/gradient_verdict.ts";
import { optimizerNames } from "../../core/config/optimizer_names.ts";
import { optimizerOf, optimizers } from "../../core/train/optimizers.ts";
import { countingBatches } from "../lab/world/counting_batches.ts";
import { processor, referenceHost } from "../lab/world/devices.ts";

const runs = Deno.env.get("SEED") === undefined ? Number(Deno.env.get("CALM") ?? 4) : 0;
const perTest = 4;
const otherKernels = 4; // every so many runs: the reference is slow, and its rounding far below that of opened parameters
const shares = [1, 0.5, 1, 0.1] as const; // of the largest rate, which half of the runs have
const codecs = ["iota", "q5block", "none"] as const;

function calmConfig(run: number): RunConfig {
  const optimizer = optimizerNames[run % optimizerNames.length]!;
  const share = shares[Math.floor(run / optimizerNames.length) % shares.length]!;
  return configOf({
    input: { size: "toy" },
    common: {
      ...patience,
      "train.optimizer": optimizer,
      "train.learningRate": share * optimizers[optimizer].largestRate.rate,
      ...{ "train.steps": 30, "train.stepsPerRound": 30, "train.warmupSteps": 2, "train.decayFraction": 0 },
      "pipeline.codec": codecs[run % codecs.length]!,
      ...{ "swarm.validators": 1, "swarm.replicas": 1, "train.microbatchesPerStep": 2 },
      ...{ "validate.statesPerRound": 1000, "validate.gradientsPerRound": 1000 },
    },
    fixed: { seed: run + 1 },
  });
}

async function calmRun(run: number): Promise<void> {
  const config = calmConfig(run);
  const verdicts: Extract<RunRecord, { type: "verdict" }>[] = [];
  const blamed: RunRecord[] = [];
  const failed = new AbortController(); // a stage without its only miner would wait for ever
  await runLab({
    config,
    batches: countingBatches(config),
    device: processor,
    patch: ({ role }) => role === "validator" && run % otherKernels === 0 ? { device: referenceHost() } : {},
    signal: failed.signal,
    onRecord: (record) => {
      if (record.type === "verdict") verdicts.push(record);
      if (record.type !== "blamed" && record.type !== "nodeLost") return;
      blamed.push(record);
      failed.abort();
    },
  }).catch((error) => {
    if (!failed.signal.aborted) throw error;
  });
  const what = `run ${run}, ${optimizerOf(config)} at ${config.train.learningRate}`;
  assertEquals(blamed, [], what);
  const gradients = verdicts.filter(({ gradient }) => gradient !== undefined);
  assert(gradients.length > 30, `${what}: ${gradients.length} gradients were repeated`);
  for (const verdict of verdicts) assert(verdict.passed, `${what}: ${JSON.stringify(verdict)}`);
  const worst = Math.max(...gradients.map(({ innovationError }) => innovationError));
  assert(worst <= gradientTolerance / 10, `${what}: a gradient is off by ${worst}`);
}

for (let first = 0; first < runs; first += perTest) {
  const batch = Array.from({ length: Math.min(perTest, runs - first) }, (_, i) => first + i);
  Deno.test(`Calm runs: nobody is blamed in ${batch.join(", ")}`, async () => {
    for (const run of batch) await calmRun(run);
  });
}
