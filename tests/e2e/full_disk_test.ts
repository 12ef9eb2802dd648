/**
 * The disk of blobs and checkpoints is full in the middle of a run: the run pauses, miners wait, and it ends with the
 * hashes of an undisturbed run.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunRecord } from "../../core/protocol/record.ts";
import { World } from "../lab/world/world.ts";
import { assertPausedOnce, mergedHashes, pass } from "../support/swarm/paused_run.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { noRoom, StoredSwarm, type StoredSwarmOptions } from "../support/swarm/stored_swarm.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

const hour = 3_600_000;
const patient = configOf({
  ...{ train: { steps: 4, stepsPerRound: 2 }, swarm: { replicas: 1 }, deterministic: true },
  limits: { leaseMs: 600_000, mergePhaseMs: 600_000, mergeGraceMs: 600_000 },
  outer: { learningRate: 0.7, momentum: 0.9 },
});

let patientHashes: Promise<string[]> | null = null;

function expectedOfPatient(): Promise<string[]> {
  patientHashes ??= (async () => {
    const swarm = new World({ config: patient });
    await swarm.startAll();
    await swarm.run();
    return mergedHashes(swarm);
  })();
  return patientHashes;
}

interface Disturbance {
  /** True: from this record on the disk is full. */
  readonly when: (record: RunRecord, world: StoredSwarm) => boolean;
  readonly options?: Partial<StoredSwarmOptions>;
}

/** A world that has just paused, an hour ago. */
async function pausedWorld(folder: string, { when, options = {} }: Disturbance): Promise<StoredSwarm> {
  const paused = Promise.withResolvers<void>();
  let wasFull = false;
  const world = await StoredSwarm.open({
    folder,
    config: patient,
    ...options,
    watch: (record, own) => {
      if (!wasFull && when(record, own)) own.isFull = wasFull = true;
      if (record.type === "runPaused") paused.resolve();
    },
  });
  await world.swarm.startAll();
  await Promise.race([paused.promise, world.swarm.run()]);
  await world.swarm.quiet();
  await pass(world.swarm, hour);
  await world.swarm.quiet();
  return world;
}

/** Room again: time moves in small steps until the run and all waiting nodes continue, then it stops. */
async function goOn(world: StoredSwarm): Promise<void> {
  const { swarm } = world;
  const step = async () => {
    await world.swarm.quiet();
    swarm.clock.advance(1_000);
    await world.swarm.quiet();
  };
  world.isFull = false;
  for (let i = 0; i < 31 && recordsOf(swarm, "runContinued").length === 0; i++) await step();
  for (let i = 0; i < 11; i++) await step(); // how long a miner waits before it resends
}

Deno.test("Full disk: a checkpoint finds no room; after an hour it is written, and the run has the same hashes", () =>
  withScratchFolder(async (folder) => {
    let attempts = 0;
    const world = await pausedWorld(folder, {
      when: () => false,
      options: {
        beforeCheckpoint: (own) => {
          attempts += 1;
          if (attempts === 1) own.isFull = true;
          if (own.isFull) throw new Error("Cannot write: the disk is full", { cause: noRoom() });
        },
      },
    });
    const { swarm } = world;
    assert(attempts > 3 && attempts <= 10 + hour / 30_000, `${attempts} attempts`);
    assertEquals(recordsOf(swarm, "checkpointWritten"), []);
    await goOn(world);
    await world.run();
    assertWhole(swarm, 4);
    assertPausedOnce(swarm, { atLeastMs: hour, what: "the checkpoint of round 1" });
    assertEquals(recordsOf(swarm, "checkpointWritten").map(({ round }) => round), [1, 2]);
    assertEquals(mergedHashes(swarm), await expectedOfPatient());
  }));

Deno.test("Full disk: what miners upload finds no room; they wait with the run, and it has the same hashes", () =>
  withScratchFolder(async (folder) => {
    const world = await pausedWorld(folder, {
      when: (record) => record.type === "mergePhase" && record.phase === "committing",
    });
    const { swarm } = world;
    assert(world.refusedWrites > 0 && world.refusedWrites < 10, `${world.refusedWrites} writes were tried in an hour`);
    await goOn(world);
    await world.run();
    assertWhole(swarm, 4);
    assertPausedOnce(swarm, { atLeastMs: hour, what: "a miner's upload" });
    assertEquals(mergedHashes(swarm), await expectedOfPatient());
    assertEquals(world.errors, []);
  }));

Deno.test("Full disk: the outer step that the orchestrator takes for a small stage finds no room; it is taken later, with the same hashes", () =>
  withScratchFolder(async (folder) => {
    const world = await pausedWorld(folder, {
      when: (record) => record.type === "mergePhase" && record.phase === "applying",
    });
    const { swarm } = world;
    assertEquals(recordsOf(swarm, "roundMerged"), []);
    await goOn(world);
    await world.run();
    assertWhole(swarm, 4);
    assertPausedOnce(swarm, { atLeastMs: hour, what: "a stage that the orchestrator merges" });
    assertEquals(mergedHashes(swarm), await expectedOfPatient());
  }));

Deno.test("Full disk: the orchestrator's own merge finds no room; it is done later, with the agreed hash", () =>
  withScratchFolder(async (folder) => {
    const paused = Promise.withResolvers<void>();
    const replaced = Promise.withResolvers<void>();
    let killed: string | null = null;
    const world: StoredSwarm = await StoredSwarm.open({
      folder,
      config: { ...patient, outer: { ...patient.outer, reducers: "replicas" } }, // else it has merged before it is agreed
      hold: () => killed !== null && world.swarm.members.length === 3 ? replaced.promise : null,
      watch: (record, own) => {
        if (record.type === "runPaused") paused.resolve();
        if (record.type !== "roundMerged" || killed !== null) return;
        killed = own.swarm.members[0]!.address; // before it has uploaded what its stage became
        own.isFullForHub = true;
        own.swarm.kill(killed);
      },
    });
    const { swarm } = world;
    await swarm.startAll();
    while (recordsOf(swarm, "runPaused").length === 0) {
      await world.swarm.quiet();
      swarm.clock.advance(1_000);
    }
    await pass(swarm, hour);
    world.isFullForHub = false;
    await goOn(world);
    await swarm.addMiner();
    replaced.resolve();
    await world.run();
    assertWhole(swarm, 4);
    assertStringIncludes(recordsOf(swarm, "runPaused")[0]!.text, "a stage that the orchestrator merges");
    assertEquals(recordsOf(swarm, "nodeLost").map(({ node }) => node === killed), [true]);
    assertEquals(recordsOf(swarm, "warning"), [], "it got the hash that the replica had uploaded");
    assertEquals(recordsOf(swarm, "checkpointWritten").map(({ round }) => round), [1, 2]);
  }));

Deno.test("Full disk: a member is asked to wait, without seeing the orchestrator's folders, and stores nothing meanwhile", () =>
  withScratchFolder(async (folder) => {
    const world = await pausedWorld(folder, {
      when: (record) => record.type === "mergePhase" && record.phase === "committing",
    });
    const { swarm, refusedWrites } = world;
    const path = `/blobs/${"ab".repeat(32)}`;
    const asked = world.authorizeAs(swarm.members[0]!.address)({
      method: "PUT",
      target: path,
      bodyHash: "ab".repeat(32),
    });
    const response = await world.api.request(path, { method: "PUT", headers: asked, body: new Uint8Array(10) });
    const text = await response.text();
    assertEquals(response.status, 503);
    assertStringIncludes(text, "the orchestrator's disk is full, and it waits for space");
    assert(!text.includes(folder));
    assertEquals(world.refusedWrites, refusedWrites);
    swarm.orchestrator.stop("enough");
    swarm.clock.advance(10_000);
    await world.run();
  }));
