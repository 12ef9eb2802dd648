/** `iota experiment byzantine`: the merge's rules keep what a plain mean loses to lying replicas, and leave no honest payload out. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { combine } from "../../cli/experiment/byzantine/combine.ts";
import { payloadLies, replicas } from "../../cli/experiment/byzantine/payload_liars.ts";
import { byzantineRows } from "../../cli/experiment/byzantine/run_byzantine.ts";
import { trainReplicas } from "../../cli/experiment/byzantine/train_replicas.ts";
import type { ComputeHost } from "../../cli/roles/compute_host.ts";
import { resolveConfig } from "../../core/config/parse.ts";
import { keyOf, openStream } from "../../core/prng.ts";
import { cpuAdapter, createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { countingBatches } from "../support/swarm/local_swarm.ts";

const device: ComputeHost = { adapter: cpuAdapter, openStage: createCpuStage, finish: () => Promise.resolve() };

Deno.test("Byzantine: of two liars among eight a mean loses far more than this program's rules, which keep all honest payloads", async () => {
  const resolved = resolveConfig({
    size: "toy",
    overrides: { "train.steps": 24, "train.stepsPerRound": 8, "pipeline.stages": 3, "pipeline.codec": "none" },
  });
  assert(resolved.ok);
  const { config } = resolved;
  const { signal } = new AbortController();
  const batches = countingBatches(config);
  const lie = payloadLies.find(({ name }) => name === "ten times")!;
  const train = (rule: "mean" | "here", of: typeof lie | null) =>
    trainReplicas({ config, batches, device, signal, rule, lie: of, heldOutSequences: 16 });
  const cells = [
    { name: "honest", rule: "mean" as const, liars: 0, results: [await train("mean", null)] },
    { name: lie.name, rule: "mean" as const, liars: 2, results: [await train("mean", lie)] },
    { name: lie.name, rule: "here" as const, liars: 2, results: [await train("here", lie)] },
  ];
  const [honest, mean, here] = byzantineRows(cells);
  assertEquals([honest!.gap, honest!.standardError, here!.honestLeftOut], [0, null, 0]);
  assertLess(10 * Math.abs(here!.excess), mean!.excess);
});

Deno.test("Byzantine: every lie has the payload's length and finite values", () => {
  const stream = openStream(keyOf(1, "lies"));
  const payload = (seed: number) => Float32Array.from({ length: 64 }, (_, i) => Math.sin(seed + i));
  const honest = Array.from({ length: 6 }, (_, i) => payload(i));
  for (const { name, liars, payload: lie } of payloadLies) {
    const values = lie({ own: payload(9), honest, stream });
    assertEquals(values.length, 64, name);
    assert(values.every(Number.isFinite) && liars < replicas / 2, name);
  }
});

Deno.test("Byzantine: a mean is the mean", () => {
  const payloads = [[1, 2], [3, 6]].map((values) => new Float32Array(values));
  const { average, scales } = combine(payloads, { rule: "mean", tensors: [], sketchKey: 1 });
  assertEquals([[...average], scales], [[2, 4], [1, 1]]);
});
