/** A journal that shortens itself by replaying its own history: the same state as the live one, and nothing lost meanwhile. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { replay } from "../../../cli/orchestrator/journal/hub_journal.ts";
import { HubJournal } from "../../support/hub_journal.ts";
import { snapshotBytes } from "../../../cli/orchestrator/journal/state_bytes.ts";
import { ThreadedHubJournal } from "../../../cli/orchestrator/journal/threaded_hub_journal.ts";
import type { FromJournal } from "../../../cli/orchestrator/journal/journal_messages.ts";
import { JournalWriter } from "../../../cli/orchestrator/journal/journal_writer.ts";
import { packEntries } from "../../../cli/orchestrator/journal/journal_messages.ts";
import type { OrchestratorMachine } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { shapeOf } from "../../lab/sim/swarm_shape.ts";
import { SimulatedSwarm } from "../../lab/sim/simulated_swarm.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { bytes, entries, identity, maxBytes, open, text, textsOf } from "../../support/swarm/journal_samples.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";

const miners = 24;
const due = 5_000; // events: then a snapshot is due
const whole = 6_000;

/** A simulated swarm's orchestrator up to so many events; the same every time. */
function live(
  events: number,
  onEvent: (state: OrchestratorState, event: OrchestratorEvent, nowMs: number) => void = () => {},
): { state: OrchestratorState; nowMs: number } {
  let count = 0;
  let last = { state: null as OrchestratorState | null, nowMs: 0 };
  const machine: OrchestratorMachine = {
    ...orchestrator,
    step(state, event, nowMs) {
      if (count === events) return [];
      count += 1;
      onEvent(state, event, nowMs);
      last = { state, nowMs };
      return orchestrator.step(state, event, nowMs);
    },
  };
  const seed = 5;
  const world = new SimulatedSwarm({ seed, miners, shape: shapeOf({ seed, miners }), machine, keepsJournal: false });
  world.runUntil(() => count === events, 3_600_000);
  assertEquals(count, events);
  return { state: last.state!, nowMs: last.nowMs };
}

Deno.test("Journal compaction: the replayed state has the bytes of the live one, and later events stay behind it", () =>
  withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const warnings: string[] = [];
    const compacted = Promise.withResolvers<number>();
    const { journal } = await ThreadedHubJournal.open({
      ...{ path, identity, maxBytes, warn: (text: string) => warnings.push(text) },
      onCompacted: (sequence) => compacted.resolve(sequence),
    });
    const events: { nowMs: number; event: OrchestratorEvent }[] = [];
    const end = live(whole, (state, event, nowMs) => {
      if (events.length === 0) journal.begin(state, nowMs);
      events.push({ nowMs, event });
    });
    await journal.commit(events.slice(0, due), end.state);
    for (const event of events.slice(due)) journal.commit([event], end.state); // while it replays
    const sequence = await compacted.promise;
    await journal.close();
    const { journal: file, recovered: { snapshot, entries } } = open(path);
    file.close();
    assert(snapshot !== null && sequence === due);
    assertEquals(entries.length, whole - sequence);
    assert(sameBytes(snapshot, snapshotBytes(live(sequence))), "the snapshot is that of the live state");
    assert(sameBytes(snapshotBytes(replay({ snapshot, entries })), snapshotBytes(end)), "and so is the end");
    assertEquals(warnings, []);
  }));

const sameBytes = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);

Deno.test("Journal compaction: a history that does not replay is said, and the live state is written instead", () =>
  withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const warned = Promise.withResolvers<string>();
    const { journal } = await ThreadedHubJournal.open({ path, identity, maxBytes, warn: warned.resolve });
    const { state } = live(1);
    journal.begin(state, 0);
    const nonsense = { type: "nonsense" } as unknown as OrchestratorEvent;
    const batch = Array.from(
      { length: 4096 },
      (_, i) => ({ nowMs: i, event: i === 7 ? nonsense : { type: "tick" } as const }),
    );
    await journal.commit(batch, state);
    assertStringIncludes(await warned.promise, "cannot be shortened as replaying it fails");
    await journal.commit([{ nowMs: 5000, event: { type: "tick" } }], state);
    await journal.close();
    const { journal: again, recovered } = HubJournal.open({ path, identity, maxBytes });
    assertEquals([recovered?.events, recovered?.nowMs, recovered?.cut], [1, 5000, null]);
    again.close();
  }));

Deno.test("Journal compaction: entries that come while it runs, and a kill at any moment of it, lose nothing", async () => {
  for (const moment of ["before", "during", "after"] as const) {
    await withMemoryFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      const sent: FromJournal["type"][] = [];
      const replayed = Promise.withResolvers<Uint8Array>();
      const writer = new JournalWriter({ send: ({ type }) => sent.push(type), compact: () => replayed.promise });
      const progress = { round: 0, step: 0 };
      const append = (from: number, to: number) =>
        writer.receive({
          ...{ type: "write", attempt: 0 },
          item: { type: "append", entries: packEntries(entries(from, to)), progress },
        });
      writer.receive({ type: "open", options: { path, identity, maxBytes } });
      writer.receive({ type: "write", attempt: 0, item: { type: "snapshot", state: bytes("state"), progress } });
      append(0, moment === "before" ? 4095 : 4096);
      append(5000, 5003);
      if (moment === "after") {
        replayed.resolve(bytes("state 4096"));
        await replayed.promise;
        await Promise.resolve();
        append(6000, 6001);
      }
      assertEquals(sent.includes("compacted"), moment === "after");
      for (const suffix of ["", "-wal"]) await Deno.copyFile(path + suffix, `${folder}/killed.db${suffix}`);
      writer.receive({ type: "close" });
      const { journal, recovered } = open(`${folder}/killed.db`);
      const found = textsOf(recovered);
      const isAfter = moment === "after";
      assertEquals([text(recovered.snapshot), recovered.cut], [isAfter ? "state 4096" : "state", null]);
      assertEquals(found.length, isAfter ? 4 : moment === "before" ? 4098 : 4099);
      assertEquals(found.slice(isAfter ? 0 : -3, isAfter ? 3 : undefined), ["event 5000", "event 5001", "event 5002"]);
      journal.close();
    });
  }
});
