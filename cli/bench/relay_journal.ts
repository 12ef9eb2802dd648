/**
 * The production journal and driver beside a relay, as the orchestrator uses them while a step is open: wires that arrive together
 * become durable together before they go on, and are forgotten when their step would be closed.
 */

import { setImmediate } from "node:timers";
import { systemTimers } from "../../net/timers.ts";
import { Journal } from "../journal/journal.ts";
import { Driver } from "../roles/driver.ts";

export interface RelayJournal {
  keep(segments: readonly Uint8Array[], onDurable: () => void): void;
  close(): void;
}

interface Arrived {
  readonly segments: readonly Uint8Array[];
  readonly onDurable: () => void;
}

const eventBytes = 300; // of a finished task
const heldSegments = 64;

export function openRelayJournal(): RelayJournal {
  const folder = Deno.makeTempDirSync({ prefix: "iota-bench-" });
  const identity = { run: "bench", program: "bench", config: "bench" };
  const { journal } = Journal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 32 });
  const state = new Uint8Array(2 ** 20);
  journal.snapshot(state);
  const held: string[] = [];
  let kept = 0;
  let isClosed = false;
  const driver = new Driver<null, Arrived, () => void>({
    machine: { step: (_, { onDurable }) => [onDurable], nextDeadlineMs: () => null, assertInvariants() {} },
    state: null,
    perform: (onDurable) => onDurable(),
    commit(batch) {
      const arrived = batch.flatMap(({ event }) => event.segments);
      const segments = arrived.map((bytes) => ({ hash: `${kept++}`, bytes })); // each is news, whatever is in it
      held.push(...segments.map(({ hash }) => hash));
      const droppedSegments = held.length < 2 * heldSegments ? [] : held.splice(0, heldSegments);
      const entries = batch.map(({ nowMs }) => ({ nowMs, event: new Uint8Array(eventBytes) }));
      journal.append({ entries, segments, droppedSegments });
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
    keep: (segments, onDurable) => driver.enqueue({ segments, onDurable }),
    close() {
      isClosed = true;
      driver.close();
      journal.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
