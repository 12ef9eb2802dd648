/**
 * The hub's disk is full in the middle of a run: the run stands still, however long, and ends with the hashes of one that was
 * never disturbed. A stop meanwhile ends in order.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import { JournalError } from "../../cli/journal/journal_error.ts";
import { HubJournal, type StateJournal } from "../../cli/run/hub_journal.ts";
import { LocalSwarm } from "../support/local_swarm.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { noRoom, StoredSwarm, type StoredSwarmOptions } from "../support/stored_swarm.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { assertWhole, configOf, patience, recordsOf } from "../support/whole_run.ts";

const config = tinyConfig({
  model: { width: 32, contextLength: 8 },
  train: { steps: 4, stepsPerRound: 2, microbatchesPerStep: 2 },
  deterministic: true,
  pipeline: { codec: "none" },
  outer: { learningRate: 0.7, momentum: 0.9 },
  swarm: { replicas: 1, validators: 0 },
});
const { leaseMs, mergePhaseMs } = config.limits;
const hour = 3_600_000;

/** From one moment on the disk has no room, until `hasRoom`. */
class FullJournal implements StateJournal {
  hasRoom = false;
  attempts = 0; // in vain
  #isFull = false;
  readonly #inner: HubJournal;
  readonly #when: (state: OrchestratorState) => boolean;

  constructor(inner: HubJournal, when: (state: OrchestratorState) => boolean) {
    this.#inner = inner;
    this.#when = when;
  }

  begin: StateJournal["begin"] = (state, nowMs) => this.#inner.begin(state, nowMs);
  drop: StateJournal["drop"] = (hash) => this.#inner.drop(hash);
  takeSegments: StateJournal["takeSegments"] = (refs) => this.#inner.takeSegments(refs);

  commit: StateJournal["commit"] = (batch, shell) => {
    this.#isFull ||= this.#when(shell.state);
    if (this.#isFull && !this.hasRoom) {
      this.attempts += 1;
      throw new JournalError("noSpace", "Cannot write the journal 'j' as the disk is full");
    }
    this.#inner.commit(batch, shell);
  };
}

function openJournal(folder: string) {
  const identity = { run: "local", program: "test", config: "test" };
  return HubJournal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 28 });
}

function mergedHashes(swarm: LocalSwarm): string[] {
  return recordsOf(swarm, "roundMerged").flatMap(({ round, stages }) =>
    stages.map(({ stage, parameters }) => `${round}.${stage} ${parameters}`)
  );
}

let undisturbed: Promise<string[]> | null = null;

function expectedHashes(): Promise<string[]> {
  undisturbed ??= (async () => {
    const swarm = new LocalSwarm({ config });
    await swarm.startAll();
    await swarm.run();
    return mergedHashes(swarm);
  })();
  return undisturbed;
}

/** Lets links live through a long time. */
async function pass(swarm: LocalSwarm, durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 2_000) {
    await swarm.quiet();
    swarm.timers.advance(2_000);
  }
  await swarm.quiet();
}

function assertPausedOnce(swarm: LocalSwarm, { atLeastMs, what }: { atLeastMs: number; what: string }): void {
  const [paused, second] = recordsOf(swarm, "runPaused");
  assert(paused !== undefined && second === undefined, "one sentence");
  assertStringIncludes(paused.text, what);
  assertStringIncludes(paused.text, "make room and it goes on by itself");
  assertEquals(recordsOf(swarm, "runContinued").map(({ pausedMs }) => pausedMs >= atLeastMs), [true]);
  assertEquals([recordsOf(swarm, "nodeLost"), recordsOf(swarm, "taskReleased")], [[], []]);
  assertEquals([recordsOf(swarm, "mergeLate"), recordsOf(swarm, "faultSeen")], [[], []]);
}

const isPaused = (swarm: LocalSwarm) => () => recordsOf(swarm, "runPaused").length > 0;

const moments: readonly (readonly [string, (state: OrchestratorState) => boolean])[] = [
  ["while nodes gather", (state) => state.members.size === 2],
  ["in the first step", (state) => state.work !== null],
  ["between two steps", (state) => state.step === 1],
  ["in a merge", (state) => state.merge !== null],
  ["while parameters are uploaded", (state) => state.upload !== null],
  ["in the second round", (state) => state.step === 3],
  ["for the last entry", (state) => state.phase === "finished"],
];

for (const [name, when] of moments) {
  Deno.test(`Full disk: the journal has no room ${name}; after an hour it has, and nobody was late`, () =>
    withScratchFolder(async (folder) => {
      const journal = new FullJournal(openJournal(folder).journal, when);
      const swarm = new LocalSwarm({ config, journal });
      await swarm.startAll();
      await swarm.runUntil(isPaused(swarm), patience);
      const { records: { all: [...before] }, orchestrator: { state } } = swarm;
      const pauseMs = Math.max(hour, 3 * leaseMs, 3 * mergePhaseMs);
      await pass(swarm, pauseMs);
      assertEquals(swarm.records.all, before, "nothing happens");
      assert(journal.attempts <= 10 + pauseMs / 30_000, `${journal.attempts} attempts`);
      journal.hasRoom = true;
      await swarm.runThrough(patience);
      assertEquals([state.phase, state.step], ["finished", 4]);
      assertPausedOnce(swarm, { atLeastMs: pauseMs, what: "the journal needs about 1 MiB" });
      assertEquals(mergedHashes(swarm), await expectedHashes());
    }));
}

const patient = configOf({
  ...{ train: { steps: 4, stepsPerRound: 2 }, swarm: { replicas: 1 }, deterministic: true },
  limits: { leaseMs: 600_000, mergePhaseMs: 600_000, mergeGraceMs: 600_000 },
  outer: { learningRate: 0.7, momentum: 0.9 },
});

let patientHashes: Promise<string[]> | null = null;

function expectedOfPatient(): Promise<string[]> {
  patientHashes ??= (async () => {
    const swarm = new LocalSwarm({ config: patient });
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
  await world.settled();
  await pass(world.swarm, hour);
  await world.settled();
  return world;
}

/** Room again: time moves in small steps until the run and whoever waited for it go on, then it stands still. */
async function goOn(world: StoredSwarm): Promise<void> {
  const { swarm } = world;
  const step = async () => {
    await world.settled();
    swarm.timers.advance(1_000);
    await world.settled();
  };
  world.isFull = false;
  for (let i = 0; i < 31 && recordsOf(swarm, "runContinued").length === 0; i++) await step();
  for (let i = 0; i < 11; i++) await step(); // what a miner waits before it sends again
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
          if (own.isFull) throw new Error("Cannot write as the disk must have room", { cause: noRoom() });
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
    assertPausedOnce(swarm, { atLeastMs: hour, what: "what a miner uploads" });
    assertEquals(mergedHashes(swarm), await expectedOfPatient());
    assertEquals(world.errors, []);
  }));

Deno.test("Full disk: what the hub merges itself finds no room; it is merged later, and with the agreed hash", () =>
  withScratchFolder(async (folder) => {
    const paused = Promise.withResolvers<void>();
    const replaced = Promise.withResolvers<void>();
    let killed: string | null = null;
    const world: StoredSwarm = await StoredSwarm.open({
      folder,
      config: patient,
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
      await world.settled();
      swarm.timers.advance(1_000);
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
    assertEquals(recordsOf(swarm, "warning"), [], "it got the hash that the replica had shown");
    assertEquals(recordsOf(swarm, "checkpointWritten").map(({ round }) => round), [1, 2]);
  }));

Deno.test("Full disk: a member is told to wait, without the hub's folders, and stores nothing meanwhile", () =>
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
    assertStringIncludes(text, "the orchestrator's disk is full: it waits for room");
    assert(!text.includes(folder));
    assertEquals(world.refusedWrites, refusedWrites);
    swarm.orchestrator.stop("enough");
    swarm.timers.advance(10_000);
    await world.run();
  }));

Deno.test("Full disk: a stop while the journal waits ends in order, and the journal has what it had", () =>
  withScratchFolder(async (folder) => {
    const opened = openJournal(folder);
    const journal = new FullJournal(opened.journal, (state) => state.step === 1);
    const swarm = new LocalSwarm({ config, journal });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm), patience);
    await pass(swarm, 60_000);
    swarm.orchestrator.stop("interrupted");
    const end = await swarm.runThrough(patience);
    assertEquals(end, { finished: false, reason: "interrupted" });
    const ends = await Promise.all(swarm.members.map(({ role }) => role.finished));
    assertEquals(ends.map(({ reason }) => reason), swarm.members.map(() => "interrupted"), "the nodes were told");
    const { attempts } = journal;
    await pass(swarm, 60_000);
    assertEquals(journal.attempts, attempts, "nothing is tried any more");
    opened.journal.close();
    const { journal: again, recovered } = openJournal(folder);
    assertEquals([recovered?.cut, recovered?.state.phase === "finished"], [null, false]);
    again.close();
  }));

Deno.test("Full disk: a stop while the entry waits that ends the run ends in order too", () =>
  withScratchFolder(async (folder) => {
    const journal = new FullJournal(openJournal(folder).journal, (state) => state.phase === "finished");
    const swarm = new LocalSwarm({ config, journal });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm), patience);
    assertEquals(swarm.orchestrator.state.phase, "finished", "in memory, and not yet on the disk");
    swarm.orchestrator.stop("interrupted");
    assertEquals(await swarm.runThrough(patience), { finished: false, reason: "interrupted" });
  }));

Deno.test("Full disk: any other trouble of the journal still ends the run with its reason", () =>
  withScratchFolder(async (folder) => {
    const { journal } = openJournal(folder);
    const broken: StateJournal = {
      begin: (state, nowMs) => journal.begin(state, nowMs),
      commit: () => {
        throw new JournalError("damaged", "Cannot write the journal as it is damaged");
      },
      drop: () => {},
      takeSegments: () => [],
    };
    const swarm = new LocalSwarm({ config, journal: broken });
    const end = await swarm.orchestrator.finished.catch((error) => error);
    assert(end instanceof JournalError && end.code === "damaged", String(end));
    journal.close();
  }));

Deno.test("Full disk: strangers that come and go while the run is paused cannot fill its memory", () =>
  withScratchFolder(async (folder) => {
    const opened = openJournal(folder);
    const journal = new FullJournal(opened.journal, (state) => state.step === 1);
    const inboxMessages = 16;
    const swarm = new LocalSwarm({ config: { ...config, limits: { ...config.limits, inboxMessages } }, journal });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm), patience);
    const sent: number[] = [];
    const refused: string[] = [];
    for (let stranger = 0; stranger < 500; stranger++) {
      const handler = swarm.orchestrator.accept({
        bufferedBytes: 0,
        send: () => sent.push(stranger),
        close: (reason) => refused.push(reason),
        pause: () => {},
        resume: () => {},
      });
      handler.frame(new Uint8Array(100));
    }
    assert(new Set(sent).size <= inboxMessages, `${new Set(sent).size} strangers made the hub remember something`);
    assertEquals(refused.at(-1), "the orchestrator waits for room on its disk; try again later");
    journal.hasRoom = true;
    const { finished } = await swarm.runThrough(patience);
    assert(finished && recordsOf(swarm, "nodeLost").length === 0);
    assert(recordsOf(swarm, "faultSeen").length <= inboxMessages);
    opened.journal.close();
  }));
