/**
 * The orchestrator dies at every entry of its journal, before and after the entry is durable, and continues from what is
 * stored: the run ends complete and with the same parameter hashes as an uninterrupted one.
 */

import { assert, assertEquals } from "@std/assert";
import { heldSegments } from "../../core/orchestrator/closing.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { StateJournal } from "../../cli/orchestrator/journal/hub_journal.ts";
import type { HubJournal } from "../support/hub_journal.ts";
import { hashOf } from "../../net/blob_hash.ts";
import { World } from "../lab/world/world.ts";
import { config, openJournal, reopen, withJournal } from "../support/swarm/restarts.ts";
import { tinyConfig } from "../support/tiny_model.ts";

class Crash extends Error {}

/** A round of two steps, and one of one: what dies at every entry. */
const steps = 3;
const briefly = tinyConfig({ ...config, train: { ...config.train, steps } });

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

/** Runs to the end with one crash; null when the run was over before it. */
function runWithCrash(options: { at: number; isDurable: boolean }): Promise<World | null> {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const swarm = new World({ config: briefly, hub: { journal: dyingJournal(first, options) } });
    const firstLife = swarm.orchestrator.finished.then(() => "finished", (error) => {
      assert(error instanceof Crash, String(error));
      return "crashed";
    });
    let end: string | null = null;
    firstLife.then((how) => end = how);
    await swarm.startAll();
    await swarm.runUntil(() => end !== null);
    first.close();
    if (end === "finished") return null;
    const { journal, recovered, replayed } = reopen(path);
    swarm.restart({ journal, recovered: recovered });
    swarm.records.all.splice(0, swarm.records.all.length, ...replayed);
    await swarm.runThrough();
    journal.close();
    return swarm;
  });
}

for (const isDurable of [false, true]) {
  const when = isDurable ? "just after an entry is durable" : "just before an entry is durable";
  Deno.test(`Restart: an orchestrator killed ${when}, at every entry, ends with the hashes of an undisturbed run`, async () => {
    const undisturbed = new World({ config: briefly });
    await undisturbed.startAll();
    await undisturbed.runThrough();
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
function runWithStop(at: number): Promise<World | null> {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    let commits = 0;
    const swarm: World = new World({
      config: briefly,
      hub: {
        journal: {
          begin: (state, nowMs) => first.begin(state, nowMs),
          commit(batch, state) {
            first.commit(batch, state);
            commits += 1;
            if (commits === at) queueMicrotask(() => swarm.orchestrator.stop("interrupted"));
          },
        },
      },
    });
    await swarm.startAll();
    const { finished, reason } = await swarm.runThrough();
    first.close();
    if (finished) return null;
    assertEquals(reason, "interrupted");
    const { step } = swarm.orchestrator.state;
    const { journal, recovered, replayed } = reopen(path);
    assertEquals(recovered.state.step, step, "goes on at the very step");
    const savedWires = new Map(swarm.orchestrator.segments.all.map((bytes) => [hashOf(bytes), bytes]));
    const lost = heldSegments(recovered.state).filter(({ hash }) => !savedWires.has(hash));
    assertEquals(lost, [], "what a stopped process holds is all that its state names");
    swarm.restart({ journal, recovered: recovered, savedWires });
    swarm.records.all.splice(0, swarm.records.all.length, ...replayed);
    await swarm.runThrough();
    journal.close();
    assertEquals(swarm.refusals, [], "no miner gave up");
    return swarm;
  });
}

Deno.test("Restart: an orchestrator stopped in order, at every entry, loses nothing, and its miners wait for it", async () => {
  const undisturbed = new World({ config: briefly });
  await undisturbed.startAll();
  await undisturbed.runThrough();
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
