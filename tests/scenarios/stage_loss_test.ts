/** Parameters that go missing: between agreement and upload, from the store, from one miner's disk. */

import { assert, assertEquals } from "@std/assert";
import { nodeId } from "../../core/ids.ts";
import type { BlobAccess } from "../../cli/roles/blob_access.ts";
import { passTimes } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

Deno.test("Faults: when every replica of a stage is lost between agreement and upload, the orchestrator makes the parameters again", async () => {
  let lost = 0;
  const swarm = new World({
    config: configOf({ swarm: { replicas: 1 }, outer: { learningRate: 1, momentum: 0, reducers: "replicas" } }),
    watch: (record, world) => {
      if (record.type !== "roundMerged" || record.round !== 1) return;
      world.kill(world.members[1]!.address);
      lost += 1;
    },
  });
  await swarm.startAll();
  await swarm.runUntil(() => swarm.orchestrator.state.sources.round === 1);
  assertEquals([lost, swarm.records.count("nodeLost")], [1, 1]);
  const newcomer = await swarm.addMiner();
  await swarm.runThrough();
  assertWhole(swarm);
  const merged = recordsOf(swarm, "roundMerged")[0]!.stages[1]!.parameters;
  const ready = recordsOf(swarm, "nodeReady").find((record) => record.node === newcomer.address);
  assertEquals([ready?.stage, ready?.round, ready?.parameters], [1, 1, merged]);
});

Deno.test("Faults: a slice that is also the outer momentum, byte for byte, outlives its merge", async () => {
  const swarm = new World({
    config: configOf({ swarm: { replicas: 1 }, outer: { learningRate: 0.7, momentum: 0.9 } }),
    watch: (record, world) => {
      if (record.type === "stepClosed" && record.step === 4) world.kill(world.members[0]!.address);
    },
  });
  await swarm.startAll();
  await swarm.runUntil(() => swarm.records.count("nodeLost") === 1);
  await swarm.addMiner(); // needs the momentum of round 1, which was the only payload's only slice
  await swarm.runThrough();
  assertWhole(swarm);
});

Deno.test("Faults: a stage that nobody has and no store holds is made from its neighbours, and the run says so", async () => {
  let victim: string | null = null;
  const swarm: World = new World({
    config: configOf({
      model: { width: 32, layers: 4 },
      pipeline: { codec: "none", stages: 4 },
      swarm: { replicas: 1 },
    }),
    watch: (record, world) => {
      if (victim !== null || record.type !== "stepClosed" || record.step !== 4) return;
      victim = world.members[1]!.address;
      world.kill(victim);
      const source = world.orchestrator.state.sources.stages[1]!;
      if (source.type === "blobs") world.blobs.held.delete(source.parameters.hash);
    },
  });
  await swarm.startAll();
  await swarm.runUntil(() => swarm.records.count("nodeLost") === 1);
  const newcomer = await swarm.addMiner();
  await swarm.runThrough();
  assertWhole(swarm);
  const restored = recordsOf(swarm, "stageRestored");
  assertEquals(restored.map(({ round, stage, from }) => [round, stage as number, from]), [[2, 1, "neighbours"]]);
  const ready = recordsOf(swarm, "nodeReady").find((record) => record.node === newcomer.address);
  assertEquals([ready?.stage as number, ready?.round], [1, 2]);
});

Deno.test("Faults: a miner whose own store fails is sent away, and nobody else is bothered", async () => {
  const swarm = new World({ config: configOf(), passMs: passTimes(10) });
  let isBroken = false;
  const blobs: BlobAccess = {
    put: (bytes) => swarm.blobs.put(bytes),
    get: (ref) => isBroken ? Promise.reject(new Error("its disk is gone")) : swarm.blobs.get(ref),
  };
  await swarm.addMiners(6);
  await swarm.runUntil(() => swarm.orchestrator.state.sources.round === 1);
  isBroken = true;
  const broken = await swarm.addMiner({ blobs });
  await swarm.runThrough();
  assertWhole(swarm);
  const faults = recordsOf(swarm, "faultSeen").filter((record) => record.node === broken.address);
  assert(faults.length > 0 && faults.every((record) => record.code === "badBlob"));
  assertEquals(recordsOf(swarm, "stageRestored"), []);
});

Deno.test("Faults: a newcomer that was away while rounds went by keeps its assignment and is not blamed", async () => {
  const download = Promise.withResolvers<void>(); // of the newcomer's round: waits for this
  const disk = Promise.withResolvers<void>(); // of the orchestrator: busy two rounds later, until this
  let lateRound: number | null = null;
  let isDiskBusy = false;
  const swarm: World = new World({
    config: configOf({ train: { steps: 18, stepsPerRound: 3 }, limits: { disconnectGraceMs: 60_000 } }),
    passMs: passTimes(10),
    hub: {
      storeRound: async ({ round }) => {
        isDiskBusy = lateRound !== null && round === lateRound + 2;
        if (isDiskBusy) await disk.promise;
        return `round-${round}`;
      },
    },
  });
  const { state } = swarm.orchestrator;
  await swarm.startAll();
  await swarm.runUntil(() => state.sources.round === 1);
  const late: BlobAccess = {
    put: (bytes) => swarm.blobs.put(bytes),
    get: async (ref) => {
      if (lateRound === null) {
        lateRound = state.sources.round;
        swarm.kill(newcomer.address);
        await download.promise;
      }
      return await swarm.blobs.get(ref);
    },
  };
  const newcomer = await swarm.addMiner({ blobs: late });
  await swarm.runUntil(() => isDiskBusy);
  newcomer.link.unreachable = false;
  const member = () => state.members.get(nodeId(newcomer.address))!;
  await swarm.runUntil(() => member().graceUntilMs === null);
  download.resolve();
  disk.resolve();
  await swarm.runUntil(() => member().status === "active");
  assertEquals([member().loadFailures, state.restoring.size], [0, 0]);
  await swarm.runThrough();
  assertWhole(swarm, 18);
  assertEquals(recordsOf(swarm, "faultSeen").filter(({ code }) => code === "badBlob"), []);
  const ofNewcomer = ({ node }: { node: string }) => node === newcomer.address;
  const assigned = recordsOf(swarm, "nodeAssigned").filter(ofNewcomer).map(({ round }) => round);
  assertEquals(assigned, [lateRound!]);
  assert(recordsOf(swarm, "nodeReady").some(ofNewcomer));
});
