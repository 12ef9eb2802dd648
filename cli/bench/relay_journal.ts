/**
 * The production journal and driver beside a relay, as the orchestrator uses them while a step is open: the events of wires that
 * arrive together become durable together before the wires go on. The wires themselves stay in memory.
 */

import { setImmediate } from "node:timers";
import { systemTimers } from "../../net/timers.ts";
import { Journal } from "../journal/journal.ts";
import { Driver } from "../roles/driver.ts";

export interface RelayJournal {
  book(onDurable: () => void): void;
  close(): void;
}

const eventBytes = 300; // of a finished task

export function openRelayJournal(): RelayJournal {
  const folder = Deno.makeTempDirSync({ prefix: "iota-bench-" });
  const identity = { run: "bench", program: "bench", config: "bench" };
  const { journal } = Journal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 32 });
  const state = new Uint8Array(2 ** 20);
  journal.snapshot(state);
  let isClosed = false;
  const driver = new Driver<null, () => void, () => void>({
    machine: { step: (_, onDurable) => [onDurable], nextDeadlineMs: () => null, assertInvariants() {} },
    state: null,
    perform: (onDurable) => onDurable(),
    commit(batch) {
      journal.append(batch.map(({ nowMs }) => ({ nowMs, event: new Uint8Array(eventBytes) })));
      if (journal.needsSnapshot) journal.snapshot(state);
    },
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
    book: (onDurable) => driver.enqueue(onDurable),
    close() {
      isClosed = true;
      driver.close();
      journal.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
