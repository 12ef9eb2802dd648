/**
 * What a restart of the orchestrator costs, at the worst moment: just before the next snapshot of the state is due.
 *
 * The events are those of a simulated swarm (tests/lab/sim) in its second step, the journal is the production one on disk. Owns:
 * getting the journal to that point, and reading it back as a new process would. What a returning miner costs is `hello`.
 */

import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { Journal, type JournalEntry } from "../../../cli/orchestrator/journal/journal.ts";
import type { OpenJournalOptions } from "../../../cli/orchestrator/journal/journal_file.ts";
import { replay } from "../../../cli/orchestrator/journal/hub_journal.ts";
import type { OrchestratorMachine } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { eventBytes, snapshotBytes } from "../../../cli/orchestrator/journal/state_bytes.ts";
import { shapeOf } from "../sim/swarm_shape.ts";
import { SimulatedSwarm } from "../sim/simulated_swarm.ts";

export interface RestartCost {
  readonly miners: number;
  readonly stateBytes: number;
  readonly snapshotMs: number; // in a thread of its own; its history is replayed first
  readonly snapshotShare: number; // of that thread's time, were miners as fast as the simulated ones
  readonly entriesPerSecond: number; // virtual
  readonly entries: number; // until the next snapshot
  readonly entryMicroseconds: number; // to encode and write one, in batches
  readonly openMs: number; // read and checked
  readonly replayMs: number;
  readonly restartMs: number;
}

const seed = 1;
const batchEntries = 32;
const settleMs = 10_000; // virtual: after a step's beginning, when all ask at once
const withinMs = 3_600_000;

export function measureRestart(miners: number): RestartCost {
  const folder = Deno.makeTempDirSync({ prefix: "iota-bench-" });
  try {
    const identity = { run: "bench", program: "bench", config: "bench" };
    const options: OpenJournalOptions = { path: `${folder}/journal.db`, identity, maxBytes: 2 ** 30 };
    const kept = keepJournal(options, miners);
    const startedMs = performance.now();
    const { journal, recovered } = Journal.open(options);
    const openMs = performance.now() - startedMs;
    const { snapshot, entries } = recovered;
    if (snapshot === null || recovered.cut !== null) throw new Error("the journal is not whole");
    replay({ snapshot, entries });
    const restartMs = performance.now() - startedMs;
    journal.close();
    return { miners, ...kept, entries: entries.length, openMs, replayMs: restartMs - openMs, restartMs };
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

type Kept = Omit<RestartCost, "miners" | "entries" | "openMs" | "replayMs" | "restartMs">;

/** Leaves a journal that would get a snapshot now. */
function keepJournal(options: OpenJournalOptions, miners: number): Kept {
  const { journal } = Journal.open(options);
  const batch: JournalEntry[] = [];
  let isKept = false;
  let written = 0;
  let writeMs = 0;
  const machine: OrchestratorMachine = {
    ...orchestrator,
    step(state, event, nowMs) {
      const startedMs = performance.now();
      if (isKept) batch.push({ nowMs, event: eventBytes(event) });
      if (batch.length >= batchEntries && !journal.needsSnapshot) {
        journal.append(batch);
        written += batch.length;
        batch.length = 0;
      }
      writeMs += performance.now() - startedMs;
      return orchestrator.step(state, event, nowMs);
    },
  };
  const shape = shapeOf({ seed, miners });
  const world = new SimulatedSwarm({ seed, miners, shape, machine, keepsJournal: false });
  if (!world.runUntil(() => world.hub.state.step >= 1, withinMs)) throw new Error("no step was closed");
  const fromMs = world.nowMs + settleMs;
  world.runUntil(() => false, fromMs);
  const startedMs = performance.now();
  const state = snapshotBytes({ state: world.hub.state, nowMs: world.nowMs });
  journal.snapshot(state);
  const snapshotMs = performance.now() - startedMs;
  isKept = true;
  writeMs = 0;
  if (!world.runUntil(() => journal.needsSnapshot, world.nowMs + withinMs)) throw new Error("no snapshot fell due");
  const busyMs = world.nowMs - fromMs;
  journal.close();
  return {
    stateBytes: state.byteLength,
    snapshotMs,
    snapshotShare: snapshotMs / (busyMs + snapshotMs),
    entriesPerSecond: (1000 * written) / busyMs,
    entryMicroseconds: (1000 * writeMs) / written,
  };
}
