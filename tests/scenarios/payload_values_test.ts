/** `iota experiment payloads`: on a small trained model a gradient ranks payloads as leaving each out does. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { payloadsRows, spearman } from "../../cli/experiment/payloads/run_payloads.ts";
import { valuePayloads } from "../../cli/experiment/payloads/value_payloads.ts";
import type { ComputeHost } from "../../cli/roles/compute_host.ts";
import { resolveConfig } from "../../core/config/parse.ts";
import { cpuAdapter, createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { countingBatches } from "../support/swarm/local_swarm.ts";

const device: ComputeHost = { adapter: cpuAdapter, openStage: createCpuStage, finish: () => Promise.resolve() };

Deno.test("Payload values: the bad are found, and the order is that of leaving out", async () => {
  const resolved = resolveConfig({
    size: "toy",
    overrides: { "train.steps": 40, "train.stepsPerRound": 8, "pipeline.stages": 3 },
  });
  assert(resolved.ok);
  const { config } = resolved;
  const { signal } = new AbortController();
  const batches = countingBatches(config);
  const values = await valuePayloads({ config, batches, device, signal, heldOutSequences: 16 });
  for (const { name, spearman, wrongSignLast, badBelowHonest } of payloadsRows([values])) {
    assertLess(0.8, spearman, name);
    assertEquals([wrongSignLast, badBelowHonest], [1, 1], name);
  }
});

Deno.test("Payload values: the rank correlation is 1 for any rising order and -1 for the reverse", () => {
  assertEquals([spearman([1, 2, 30, 4], [0, 0.5, 9, 0.6]), spearman([1, 2, 3, 4], [4, 3, 2, 1])], [1, -1]);
  assertEquals(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 0.8);
});
