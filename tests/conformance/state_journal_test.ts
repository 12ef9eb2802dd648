/** One suite for the journals of an orchestrator: production's on disk, the simulator's as bytes and as events. */

import { assertEquals, assertNotEquals } from "@std/assert";
import { noScale } from "../../core/codec/wire.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../core/model/spec.ts";
import { nodeId } from "../../core/ids.ts";
import type { OrchestratorEvent } from "../../core/orchestrator/event.ts";
import { orchestrator } from "../../core/orchestrator/machine.ts";
import { openOrchestrator, type OrchestratorState } from "../../core/orchestrator/state.ts";
import type { StateJournal } from "../../cli/orchestrator/journal/hub_journal.ts";
import { HubJournal } from "../support/hub_journal.ts";
import { MemoryJournal } from "../lab/sim/processes/memory_journal.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { tinyConfig } from "../support/tiny_model.ts";

interface Opened {
  readonly journal: StateJournal;
  /** What a process finds that starts after this one was killed. */
  recover(): { readonly state: OrchestratorState; readonly nowMs: number };
}

function onDisk(folder: string): Opened {
  const options = {
    path: `${folder}/journal.db`,
    identity: { run: "r", program: "p", config: "c" },
    maxBytes: 2 ** 26,
  };
  const { journal } = HubJournal.open(options);
  return {
    journal,
    recover() {
      journal.close();
      const { journal: again, recovered } = HubJournal.open(options);
      again.close();
      if (recovered === null) throw new Error("nothing was kept");
      return recovered;
    },
  };
}

function inMemory({ encodes }: { encodes: boolean }): Opened {
  const journal = new MemoryJournal({ encodes });
  return { journal, recover: () => journal.recover() };
}

function newState(): OrchestratorState {
  const config = tinyConfig();
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const stageFloats = stages.map((spec) => parameterTable(spec).length);
  return openOrchestrator({ config, stages, layersOfStages, stageFloats, secret: new Uint8Array(32), nowMs: 0 });
}

const arrival = (index: number): OrchestratorEvent => ({
  type: "messageReceived",
  node: nodeId(`node-${index}`),
  role: "miner",
  message: {
    ...{ type: "join", role: "miner", adapter: "test" },
    ...{ previousStage: null, holding: null, listens: null },
  },
  segments: [],
  scale: noScale,
});

/** Steps the events and commits them as one batch. */
async function take(journal: StateJournal, state: OrchestratorState, timed: [number, OrchestratorEvent][]) {
  const batch = timed.map(([nowMs, event]) => ({ nowMs, event }));
  for (const { nowMs, event } of batch) orchestrator.step(state, event, nowMs);
  await journal.commit(batch, state);
}

const kinds: [string, (folder: string) => Opened][] = [
  ["on disk", onDisk],
  ["in memory, as bytes", () => inMemory({ encodes: true })],
  ["in memory, as events", () => inMemory({ encodes: false })],
];

for (const [kind, open] of kinds) {
  Deno.test(`Journal ${kind}: a crash leaves what was committed, and nothing else`, () =>
    withScratchFolder(async (folder) => {
      const { journal, recover } = open(folder);
      const state = newState();
      journal.begin(state, 5);
      await take(journal, state, [[10, { type: "tick" }], [11, arrival(1)]]);
      await take(journal, state, [[12, arrival(2)]]);
      const committed = structuredClone(state);
      orchestrator.step(state, arrival(3), 13); // stepped, and killed before its commit
      assertNotEquals(state, committed);
      const recovered = recover();
      assertEquals([recovered.state, recovered.nowMs], [committed, 12]);
    }));

  Deno.test(`Journal ${kind}: without an event it gives back the state that it began with`, () =>
    withScratchFolder((folder) => {
      const { journal, recover } = open(folder);
      const state = newState();
      journal.begin(state, 5);
      assertEquals({ ...recover() }.nowMs, 5);
    }));

  Deno.test(`Journal ${kind}: it takes snapshots by itself, and ends in the same state`, () =>
    withScratchFolder(async (folder) => {
      const { journal, recover } = open(folder);
      const state = newState();
      journal.begin(state, 0);
      for (let batch = 0; batch < 100; batch++) {
        await take(journal, state, Array.from({ length: 64 }, (_, i) => [64 * batch + i, arrival(i)]));
      }
      const { state: found, nowMs } = recover();
      assertEquals([found, nowMs], [state, 6399]);
    }));
}
