/**
 * The production journal and driver beside a relay, as the orchestrator uses them while a step is open: the events of wires that
 * arrive together become durable together before the wires go on. The wires themselves stay in memory.
 */

import { setImmediate } from "node:timers";
import { systemTimers } from "../../../net/timers.ts";
import { JournalThread } from "../../orchestrator/journal/journal_thread.ts";
import { Driver } from "../../roles/driver.ts";

export interface RelayJournal {
  book(onDurable: () => void): void;
  /** Since it was opened: how many events became durable together, on average. */
  readonly eventsPerCommit: number;
  close(): Promise<void>;
}

const eventBytes = 300; // of a finished task
const progress = { round: 1, step: 1 };

export async function openRelayJournal(): Promise<RelayJournal> {
  const folder = Deno.makeTempDirSync({ prefix: "iota-bench-" });
  const identity = { run: "bench", program: "bench", config: "bench" };
  const state = new Uint8Array(2 ** 20);
  const options = { path: `${folder}/journal.db`, identity, maxBytes: 2 ** 32 };
  const { thread } = await JournalThread.open({ ...options, onSnapshotWanted: () => thread.snapshot(state, progress) });
  thread.snapshot(state, progress);
  let isClosed = false;
  let events = 0;
  const driver = new Driver<null, () => void, () => void>({
    machine: { step: (_, onDurable) => [onDurable], nextDeadlineMs: () => null, assertInvariants() {} },
    state: null,
    perform: (onDurable) => onDurable(),
    commit: (batch) => {
      events += batch.length;
      const entries = batch.map(({ nowMs }) => ({ nowMs, event: new Uint8Array(eventBytes) }));
      return thread.append(entries, progress).durable.promise;
    },
    isBehind: () => thread.isBehind,
    tick: null,
    timers: systemTimers,
    inboxMessages: 4096,
    onPressure() {},
    onFailure(error) {
      throw error;
    },
    gather: (callback) => setImmediate(() => isClosed || callback()),
  });
  return {
    get eventsPerCommit() {
      return events / thread.writes;
    },
    book: (onDurable) => driver.enqueue(onDurable),
    async close() {
      isClosed = true;
      driver.close();
      await thread.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
