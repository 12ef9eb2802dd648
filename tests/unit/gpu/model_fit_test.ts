/** What does not fit an adapter is refused with changes that were tried. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { resolveConfig } from "../../../core/settings/parse.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { fitModel, mustFit } from "../../../cli/device/model_fit.ts";
import type { DeviceLimits } from "../../../gpu/webgpu/device.ts";
import type { ComputeWorker } from "../../../gpu/worker_client.ts";

const mebi = 2 ** 20;
const limits: DeviceLimits = {
  maxBufferSize: 2048 * mebi,
  maxStorageBufferBindingSize: 128 * mebi, // of the software driver
  maxComputeWorkgroupsPerDimension: 65_535,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupStorageSize: 16_384,
};

function configOf(options: { size: string; overrides?: Record<string, number> }): RunConfig {
  const resolved = resolveConfig(options);
  assert(resolved.ok);
  return resolved.config;
}

function workerWith(isSoftware: boolean): ComputeWorker {
  const unused = () => Promise.reject(new Error("not asked for here"));
  return {
    adapter: { device: "webgpu", name: "paper", isSoftware },
    threads: null,
    reason: null,
    openStage: unused,
    inspect: () => Promise.resolve({ limits, features: [] }),
    measureGemm: unused,
    measureAttention: unused,
    measureAdapter: unused,
    tune: unused,
    checkOperations: unused,
    finish: () => Promise.resolve(),
    close: () => {},
  };
}

const plenty = () => Infinity;

Deno.test("Model fit: a size beyond the adapter is refused with limit, value and changes that fit", async () => {
  const config = configOf({ size: "100m", overrides: { "train.sequencesPerMicrobatch": 48 } });
  const attempt = () => mustFit(config, { worker: workerWith(true), memoryBytes: plenty });
  const { message, next } = await assertRejects(attempt, UserError);
  assertMatch(
    message,
    /size 100m .*\(paper\): its embedded tokens take 144\.0 MiB, more than the adapter's 128\.0 MiB/,
  );
  const sequences = Number(/train\.sequencesPerMicrobatch=(\d+)/.exec(next!)?.[1]);
  const size = /--size (\w+)/.exec(next!)?.[1];
  const adapter = { limits, isSoftware: true };
  const smallerTasks = configOf({ size: "100m", overrides: { "train.sequencesPerMicrobatch": sequences } });
  assertEquals((await fitModel(smallerTasks, adapter)).problem, null);
  assertEquals((await fitModel(configOf({ size: size! }), adapter)).problem, null);
});

Deno.test("Model fit: a swarm on a software adapter must fit the machine's memory; on a GPU this is unknown", async () => {
  const config = configOf({ size: "small", overrides: { "swarm.replicas": 8 } });
  const memoryBytes = () => 512 * mebi;
  const attempt = () => mustFit(config, { worker: workerWith(true), memoryBytes });
  const { message, next } = await assertRejects(attempt, UserError);
  assertMatch(message, /32 miners and 1 validator do not fit this machine's memory: .* 512\.0 MiB are available/);
  assertMatch(next!, /fewer --replicas/);
  await mustFit(config, { worker: workerWith(false), memoryBytes });
  await mustFit(config, { worker: workerWith(true), memoryBytes: plenty });
});
