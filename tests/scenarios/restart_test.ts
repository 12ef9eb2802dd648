/**
 * The orchestrator dies at every entry of its journal, before and after the entry is durable, and continues from what is
 * stored: the run ends complete and with the same parameter hashes as an uninterrupted one.
 */

import { assert, assertEquals } from "@std/assert";
import type { OrchestratorEffect } from "../../core/orchestrator/event.ts";
import { heldSegments } from "../../core/orchestrator/closing.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { HubJournal, type RecoveredRun, type StateJournal } from "../../cli/hub/journal/hub_journal.ts";
import { hashOf } from "../../net/blobs/blob_hash.ts";
import { withMemoryFolder } from "../support/scratch_folder.ts";
import { LocalSwarm } from "../support/swarm/local_swarm.ts";
import { tinyConfig } from "../support/tiny_model.ts";

class Crash extends Error {}

const config = tinyConfig({
  model: { width: 32, contextLength: 8 },
  train: { steps: 4, stepsPerRound: 2, microbatchesPerStep: 2 },
  deterministic: true,
  pipeline: { codec: "none" },
  swarm: { replicas: 1, validators: 0 },
});
/** A round of two steps, and one of one: what dies at every entry. */
const steps = 3;
const briefly = tinyConfig({ ...config, train: { ...config.train, steps } });
const identity = { run: "local", program: "test", config: "test" };
const maxBytes = 2 ** 28;
const patience = { stepMs: 500, atMostMs: 600_000 };

function openJournal(path: string, onReplayed?: (effects: readonly OrchestratorEffect[]) => void) {
  return HubJournal.open({ path, identity, maxBytes, ...(onReplayed === undefined ? {} : { onReplayed }) });
}

/** Dies at one commit: the entry is lost with it, or just durable with nothing of its effects done. */
function dyingJournal(inner: HubJournal, options: { at: number; isDurable: boolean }): StateJournal {
  let commits = 0;
  return {
    begin: (state, nowMs) => inner.begin(state, nowMs),
    commit(batch, state) {
      commits += 1;
      if (commits < options.at) return inner.commit(batch, state);
      if (options.isDurable) inner.commit(batch, state);
      throw new Crash();
    },
  };
}

function mergedHashes(records: readonly RunRecord[]): string[] {
  return records.flatMap((record) =>
    record.type === "roundMerged"
      ? record.stages.map((stage) => `${record.round}.${stage.stage} ${stage.parameters}`)
      : []
  );
}

const withJournal = <T>(body: (path: string) => Promise<T>): Promise<T> =>
  withMemoryFolder((folder) => body(`${folder}/journal.db`));

/** Runs to the end with one crash; null when the run was over before it. */
function runWithCrash(options: { at: number; isDurable: boolean }): Promise<LocalSwarm | null> {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const swarm = new LocalSwarm({ config: briefly, journal: dyingJournal(first, options) });
    const firstLife = swarm.orchestrator.finished.then(() => "finished", (error) => {
      assert(error instanceof Crash, String(error));
      return "crashed";
    });
    let end: string | null = null;
    firstLife.then((how) => end = how);
    await swarm.startAll();
    await swarm.runUntil(() => end !== null, patience);
    first.close();
    if (end === "finished") return null;
    const replayed: RunRecord[] = [];
    const { journal, recovered } = openJournal(path, (effects) => {
      for (const effect of effects) if (effect.type === "record") replayed.push(effect.record);
    });
    swarm.restart({ journal, recovered: present(recovered) });
    swarm.records.all.splice(0, swarm.records.all.length, ...replayed);
    await swarm.runThrough(patience);
    journal.close();
    return swarm;
  });
}

function present(recovered: RecoveredRun | null): RecoveredRun {
  assert(recovered !== null, "a journal that was begun has a state");
  return recovered;
}

for (const isDurable of [false, true]) {
  const when = isDurable ? "just after an entry is durable" : "just before an entry is durable";
  Deno.test(`Restart: an orchestrator killed ${when}, at every entry, ends with the hashes of an undisturbed run`, async () => {
    const undisturbed = new LocalSwarm({ config: briefly });
    await undisturbed.startAll();
    await undisturbed.runThrough(patience);
    const expected = mergedHashes(undisturbed.records.all);
    let crashes = 0;
    for (let at = 1;; at++) {
      const swarm = await runWithCrash({ at, isDurable });
      if (swarm === null) break;
      crashes += 1;
      const { state, segments } = swarm.orchestrator;
      const { microbatchesIssued, microbatchesCredited } = state.counters;
      assertEquals(
        [state.step, state.phase, microbatchesCredited],
        [steps, "finished", microbatchesIssued],
        `crash ${at}`,
      );
      assertEquals(segments.bytes, 0, `crash at entry ${at} leaves a segment`);
      assertEquals(mergedHashes(swarm.records.all), expected, `crash at entry ${at}`);
    }
    assert(crashes > 40, `${crashes} crashes`);
  });
}

/** Runs to the end with one clean stop; null when the run was over before it. */
function runWithStop(at: number): Promise<LocalSwarm | null> {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    let commits = 0;
    const swarm: LocalSwarm = new LocalSwarm({
      config: briefly,
      journal: {
        begin: (state, nowMs) => first.begin(state, nowMs),
        commit(batch, state) {
          first.commit(batch, state);
          commits += 1;
          if (commits === at) queueMicrotask(() => swarm.orchestrator.stop("interrupted"));
        },
      },
    });
    await swarm.startAll();
    const { finished, reason } = await swarm.runThrough(patience);
    first.close();
    if (finished) return null;
    assertEquals(reason, "interrupted");
    const { step } = swarm.orchestrator.state;
    const replayed: RunRecord[] = [];
    const { journal, recovered } = openJournal(path, (effects) => {
      for (const effect of effects) if (effect.type === "record") replayed.push(effect.record);
    });
    assertEquals(present(recovered).state.step, step, "goes on at the very step");
    const savedWires = new Map(swarm.orchestrator.segments.all.map((bytes) => [hashOf(bytes), bytes]));
    const lost = heldSegments(present(recovered).state).filter(({ hash }) => !savedWires.has(hash));
    assertEquals(lost, [], "what a stopped process holds is all that its state names");
    swarm.restart({ journal, recovered: present(recovered), savedWires });
    swarm.records.all.splice(0, swarm.records.all.length, ...replayed);
    await swarm.runThrough(patience);
    journal.close();
    assertEquals(swarm.refusals, [], "no miner gave up");
    return swarm;
  });
}

Deno.test("Restart: an orchestrator stopped in order, at every entry, loses nothing, and its miners wait for it", async () => {
  const undisturbed = new LocalSwarm({ config: briefly });
  await undisturbed.startAll();
  await undisturbed.runThrough(patience);
  const expected = mergedHashes(undisturbed.records.all);
  let stops = 0;
  for (let at = 1;; at++) {
    const swarm = await runWithStop(at);
    if (swarm === null) break;
    stops += 1;
    const { state, segments } = swarm.orchestrator;
    const { microbatchesIssued, microbatchesCredited, rewinds } = state.counters;
    assertEquals(
      [state.step, state.phase, microbatchesCredited],
      [steps, "finished", microbatchesIssued],
      `stop ${at}`,
    );
    assertEquals([segments.bytes, rewinds], [0, 0], `stop at entry ${at}`);
    assertEquals(mergedHashes(swarm.records.all), expected, `stop at entry ${at}`);
  }
  assert(stops > 40, `${stops} stops`);
});

Deno.test("Restart: a stopped orchestrator comes back with more steps to do, also while its last round is stored", async () => {
  const { steps } = config.train;
  const longer = tinyConfig({ ...config, train: { ...config.train, steps: steps + 2 } });
  for (const phase of ["gathering", "training", "merging", "closing"] as const) {
    await withJournal(async (path) => {
      const first = openJournal(path).journal;
      let isStopped = false;
      const swarm: LocalSwarm = new LocalSwarm({
        config,
        journal: first,
        watch: (_, { orchestrator }) => {
          if (orchestrator.state.phase !== phase || isStopped) return;
          isStopped = true;
          orchestrator.stop("interrupted");
        },
      });
      await swarm.startAll();
      assertEquals((await swarm.runThrough(patience)).finished, false, phase);
      first.close();
      const { journal, recovered } = openJournal(path);
      swarm.restart({ journal, recovered: present(recovered), config: longer });
      await swarm.runThrough(patience);
      journal.close();
      assertEquals([swarm.orchestrator.state.step, swarm.orchestrator.state.phase], [steps + 2, "finished"], phase);
    });
  }
});

Deno.test("Restart: changed settings count from then on, also for a life that is told nothing of them", () => {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const swarm = new LocalSwarm({
      config: { ...config, train: { ...config.train, steps: 12 } },
      journal: first,
      watch: (record, { orchestrator }) => {
        if (record.type === "stepClosed" && (record.step === 3 || record.step === 6)) orchestrator.stop("enough");
      },
    });
    await swarm.startAll();
    const restart = async (train: Partial<typeof config.train>) => {
      const { journal, recovered } = openJournal(path);
      const before = present(recovered).state.config;
      swarm.restart({ journal, recovered, config: { ...before, train: { ...before.train, ...train } } });
      await swarm.runThrough(patience);
      journal.close();
      return before;
    };
    await swarm.runThrough(patience);
    first.close();
    await restart({ learningRate: config.train.learningRate / 4, stepsPerRound: 4, steps: 10 });
    const { train } = await restart({});
    assertEquals([train.learningRate, train.stepsPerRound, train.steps], [config.train.learningRate / 4, 4, 10]);
    const { step, phase, round } = swarm.orchestrator.state;
    assertEquals([step, phase, round], [10, "finished", 4], "merged after 2, 4, 8 and 10 steps");
    assertEquals(swarm.refusals, [], "no miner gave up");
  });
});

Deno.test("Restart: when every miner is gone as well, the round begins again and nothing counts that is in no parameters", () => {
  return withJournal(async (path) => {
    const longRounds = tinyConfig({ ...config, train: { ...config.train, stepsPerRound: 4 } });
    const first = openJournal(path).journal;
    const swarm = new LocalSwarm({ config: longRounds, journal: first });
    const end = swarm.orchestrator.finished.then(() => null, () => null);
    await swarm.startAll();
    await swarm.runUntil(() => swarm.orchestrator.state.step >= 2, { stepMs: 1, atMostMs: 10_000 });
    for (const { address } of swarm.members) swarm.kill(address);
    first.close(); // its next entry fails, as on a disk that is gone
    await swarm.runUntil(() => true, patience);
    swarm.orchestrator.stop("gone");
    await end;
    const { journal, recovered } = openJournal(path);
    assert(recovered !== null && recovered.state.step >= 2);
    swarm.restart({ journal, recovered });
    for (let i = 0; i < 3; i++) await swarm.addMiner();
    await swarm.runThrough(patience);
    journal.close();
    const rewound = swarm.records.all.filter((record) => record.type === "rewound");
    assertEquals(rewound.map((record) => record.toStep), [0]);
    const { counters, step } = swarm.orchestrator.state;
    assertEquals([step, counters.microbatchesIssued, counters.microbatchesCredited], [4, 8, 8]);
  });
});

Deno.test("Restart: a run that is told no more steps than it has done ends at once, without any miner", () => {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const longer = tinyConfig({ ...config, train: { ...config.train, steps: 8 } });
    const swarm: LocalSwarm = new LocalSwarm({
      config: longer,
      journal: first,
      watch: (record, { orchestrator }) => {
        if (record.type === "checkpointWritten" && orchestrator.state.round === 2) orchestrator.stop("enough");
      },
    });
    await swarm.startAll();
    assertEquals((await swarm.runThrough(patience)).finished, false);
    first.close();
    const { step } = swarm.orchestrator.state;
    for (const { address } of swarm.members) swarm.kill(address);
    const { journal, recovered } = openJournal(path);
    const { roundFirstStep } = present(recovered).state;
    assertEquals([step, roundFirstStep], [4, 4], "stopped between two rounds, with a step open");
    swarm.restart({ journal, recovered, config: tinyConfig({ ...longer, train: { ...longer.train, steps: 4 } }) });
    const { finished } = await swarm.runThrough(patience);
    journal.close();
    const { state, segments } = swarm.orchestrator;
    assertEquals([finished, state.step, state.phase, segments.bytes], [true, 4, "finished", 0]);
    assertEquals(state.counters.microbatchesIssued, state.counters.microbatchesCredited);
  });
});
