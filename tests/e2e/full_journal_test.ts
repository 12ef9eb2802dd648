/**
 * The journal's disk is full at any moment of a run: the run pauses for as long as needed, and ends with the hashes of
 * an undisturbed run. A stop during the pause is orderly, and strangers cannot use the time to fill the memory.
 */

import { defaultNetLimits } from "../../net/limits.ts";
import { assert, assertEquals } from "@std/assert";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import { JournalError } from "../../cli/files/journal_error.ts";
import type { StateJournal } from "../../cli/orchestrator/journal/hub_journal.ts";
import { FullJournal, openJournal } from "../support/swarm/full_journal.ts";
import { World } from "../lab/world/world.ts";
import { assertPausedOnce, mergedHashes, pass } from "../support/swarm/paused_run.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { recordsOf } from "../support/swarm/whole_run.ts";

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

let undisturbed: Promise<string[]> | null = null;

function expectedHashes(): Promise<string[]> {
  undisturbed ??= (async () => {
    const swarm = new World({ config });
    await swarm.startAll();
    await swarm.run();
    return mergedHashes(swarm);
  })();
  return undisturbed;
}

const isPaused = (swarm: World) => () => recordsOf(swarm, "runPaused").length > 0;

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
      const swarm = new World({ config, hub: { journal } });
      await swarm.startAll();
      await swarm.runUntil(isPaused(swarm));
      const { records: { all: [...before] }, orchestrator: { state } } = swarm;
      const pauseMs = Math.max(hour, 3 * leaseMs, 3 * mergePhaseMs);
      await pass(swarm, pauseMs);
      assertEquals(swarm.records.all, before, "nothing happens");
      assert(journal.attempts <= 10 + pauseMs / 30_000, `${journal.attempts} attempts`);
      journal.hasRoom = true;
      await swarm.runThrough();
      assertEquals([state.phase, state.step], ["finished", 4]);
      assertPausedOnce(swarm, { atLeastMs: pauseMs, what: "the journal needs about 1 MiB" });
      assertEquals(mergedHashes(swarm), await expectedHashes());
    }));
}

Deno.test("Full disk: a stop while the journal waits is orderly, and the journal is unchanged", () =>
  withScratchFolder(async (folder) => {
    const opened = openJournal(folder);
    const journal = new FullJournal(opened.journal, (state) => state.step === 1);
    const swarm = new World({ config, hub: { journal } });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm));
    await pass(swarm, 60_000);
    swarm.orchestrator.stop("interrupted");
    const end = await swarm.runThrough();
    assertEquals(end, { finished: false, reason: "interrupted" });
    let ended = 0; // the nodes wait for the next life
    for (const { role } of swarm.members) role.finished.then(() => ended += 1);
    await pass(swarm, 60_000);
    assertEquals(ended, 0);
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
    const swarm = new World({ config, hub: { journal } });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm));
    assertEquals(swarm.orchestrator.state.phase, "finished", "in memory, and not yet on the disk");
    swarm.orchestrator.stop("interrupted");
    assertEquals(await swarm.runThrough(), { finished: false, reason: "interrupted" });
  }));

Deno.test("Full disk: any other trouble of the journal still ends the run with its reason", () =>
  withScratchFolder(async (folder) => {
    const { journal } = openJournal(folder);
    const broken: StateJournal = {
      begin: (state, nowMs) => journal.begin(state, nowMs),
      commit: () => {
        throw new JournalError("damaged", "Cannot write the journal: it is damaged");
      },
    };
    const swarm = new World({ config, hub: { journal: broken } });
    const end = await swarm.orchestrator.finished.catch((error) => error);
    assert(end instanceof JournalError && end.code === "damaged", String(end));
    journal.close();
  }));

Deno.test("Full disk: strangers that come and go while the run is paused cannot fill its memory", () =>
  withScratchFolder(async (folder) => {
    const opened = openJournal(folder);
    const journal = new FullJournal(opened.journal, (state) => state.step === 1);
    const inboxMessages = 16;
    const swarm = new World({ config: { ...config, limits: { ...config.limits, inboxMessages } }, hub: { journal } });
    await swarm.startAll();
    await swarm.runUntil(isPaused(swarm));
    const open = new Set<number>();
    for (let stranger = 0; stranger < 3000; stranger++) {
      open.add(stranger);
      const handler = swarm.orchestrator.accept({
        bufferedBytes: 0,
        send: () => {},
        close: () => open.delete(stranger),
        pause: () => {},
        resume: () => {},
      });
      handler.frame(new Uint8Array(100));
    }
    assert(open.size <= defaultNetLimits.pendingHellos, `${open.size} strangers are remembered`);
    journal.hasRoom = true;
    const { finished } = await swarm.runThrough();
    assert(finished && recordsOf(swarm, "nodeLost").length === 0);
    assert(recordsOf(swarm, "faultSeen").length <= inboxMessages);
    opened.journal.close();
  }));
