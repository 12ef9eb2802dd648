/** Devices that cannot hold a stage: the miner gets another one, or leaves with the reason; no miner loops. */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { MinerRecord } from "../../core/miner/event.ts";
import { UserError } from "../../cli/program/errors.ts";
import type { ComputeHost } from "../../cli/device/compute_host.ts";
import { OutOfMemoryError } from "../../gpu/cpu/layout/memory.ts";
import { TooLargeError, TooLittleMemoryError } from "../../gpu/fit/too_large.ts";
import { ComputeError } from "../../gpu/worker_client.ts";
import { referenceHost } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

const logitsTooLarge = new TooLargeError({
  ...{ label: "logits", action: "bind 'logits' to softmax as a binding", bytes: 512, limitBytes: 128 },
});

/** A device on which these stages do not fit. */
function smallHost(tooLarge: (stage: number) => boolean, problem: Error = logitsTooLarge): ComputeHost {
  const host = referenceHost();
  return {
    ...host,
    openStage: (spec, options) => tooLarge(spec.index) ? Promise.reject(problem) : host.openStage(spec, options),
  };
}

Deno.test("Too large: a miner that cannot hold its stage says so once and gets another one", async () => {
  const swarm = new World({ config: configOf({ swarm: { replicas: 2 } }) });
  const records: MinerRecord[] = [];
  const small = await swarm.addMiner({
    device: smallHost((stage) => stage === 0),
    onRecord: (record) => records.push(record),
  });
  await swarm.startAll();
  await swarm.runThrough();
  assertWhole(swarm);
  const faults = recordsOf(swarm, "faultSeen").filter(({ node }) => node === small.address);
  assertEquals(faults.map(({ code }) => code), ["tooLarge"]);
  const ready = recordsOf(swarm, "nodeReady").filter(({ node }) => node === small.address);
  assertEquals(ready.some(({ stage }) => stage !== 0), true);
  assertEquals(recordsOf(swarm, "stageRestored"), []);
  const failed = records.filter((record) => record.type === "loadFailed");
  assertEquals(failed.map(({ stage, code }) => [stage as number, code]), [[0, "tooLarge"]]);
});

Deno.test("Too large: a miner that can hold no stage is told so and leaves, after one try each", async () => {
  const swarm = new World({ config: configOf() });
  await swarm.startAll();
  const small = await swarm.addMiner({ device: smallHost(() => true) });
  const left = assertRejects(() => small.role.finished, UserError, "cannot hold any of the run's stages");
  await swarm.runThrough();
  assertWhole(swarm);
  const error = await left;
  assertMatch(`${error.message} ${error.next}`, /at most 128 bytes.*--device cpu/);
  const faults = recordsOf(swarm, "faultSeen").filter(({ node }) => node === small.address);
  assertEquals(faults.map(({ code }) => code), ["tooLarge", "tooLarge", "tooLarge"]);
  assertEquals(recordsOf(swarm, "stageRestored"), []);
});

Deno.test("Too large: so says a processor or a driver without the memory, or --memory, and no blob is blamed for it", async () => {
  const ofWorker = (error: Error) => new ComputeError(error.name, error.message);
  const problems = [
    new OutOfMemoryError({ label: "logits", bytes: 2 ** 32, usedBytes: 2 ** 30 }),
    TooLittleMemoryError.given({ adapter: "a GPU", bytes: 2 ** 31, limitBytes: 2 ** 30, reason: "no memory left" }),
    TooLittleMemoryError.allowed({ bytes: 2 ** 31, memoryBytes: 2 ** 30 }),
  ];
  for (const problem of problems.map(ofWorker)) {
    const swarm = new World({ config: configOf() });
    await swarm.startAll();
    const small = await swarm.addMiner({ device: smallHost(() => true, problem) });
    const left = assertRejects(() => small.role.finished, UserError, problem.message);
    await swarm.runThrough();
    assertWhole(swarm);
    await left;
    const faults = recordsOf(swarm, "faultSeen").filter(({ node }) => node === small.address);
    assertEquals(new Set(faults.map(({ code }) => code)), new Set(["tooLarge"]));
    assertEquals(recordsOf(swarm, "stageRestored"), []);
  }
});

Deno.test("Too large: a validator that cannot hold the model leaves with the reason", async () => {
  const swarm = new World({ config: configOf({ swarm: { validators: 0 } }) });
  await swarm.startAll();
  const small = swarm.addValidator({ device: smallHost((stage) => stage === 2) });
  const left = assertRejects(() => small.role.finished, UserError, "at most 128 bytes");
  await swarm.runThrough();
  await left;
  assertEquals(recordsOf(swarm, "runFinished").at(-1)?.finished, true);
});
