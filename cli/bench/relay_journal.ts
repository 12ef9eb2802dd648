/**
 * The production journal beside a relay, written as the orchestrator does while a step is open: one event with its wire at a time,
 * durable before it goes on, and forgotten when its step would be closed.
 */

import { Journal } from "../journal/journal.ts";

export interface RelayJournal {
  keep(segments: readonly Uint8Array[]): void;
  close(): void;
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
  return {
    keep(segments) {
      const stored = segments.map((bytes) => ({ hash: `${kept++}`, bytes })); // all are news, whatever is in them
      held.push(...stored.map(({ hash }) => hash));
      const droppedSegments = held.length < 2 * heldSegments ? [] : held.splice(0, heldSegments);
      journal.append({
        entries: [{ nowMs: kept, event: new Uint8Array(eventBytes) }],
        segments: stored,
        droppedSegments,
      });
      if (journal.needsSnapshot) journal.snapshot(state);
    },
    close() {
      journal.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
