/** A journal in a thread of its own: entries become durable in order and in groups; nothing is lost, doubled or overtaken. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { JournalError } from "../../../cli/files/journal_error.ts";
import {
  JournalThread,
  type JournalTicket,
  type WriterHandlers,
} from "../../../cli/orchestrator/journal/journal_thread.ts";
import { JournalWriter } from "../../../cli/orchestrator/journal/journal_writer.ts";
import type { FromJournal } from "../../../cli/orchestrator/journal/journal_messages.ts";
import { readMark } from "../../../cli/orchestrator/journal/journal_mark.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import { bytes, entries, identity, maxBytes, open, text, textsOf } from "../../support/swarm/journal_samples.ts";
import { killAfterLines } from "../../support/process/killed_program.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { cases } from "../../support/whole.ts";

const progress = { round: 2, step: 3 };
const onSnapshotWanted = () => {};
const expected = (count: number) => entries(0, count).map(({ event }) => text(event));

Deno.test("Journal thread: what is offered while a group is written becomes durable together, in order", () =>
  withScratchFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { thread, recovered } = await JournalThread.open({ path, identity, maxBytes, onSnapshotWanted });
    assertEquals([recovered.snapshot, recovered.sequence], [null, 0]);
    thread.snapshot(bytes("state"), progress);
    const durable: number[] = [];
    const waits = Array.from({ length: 300 }, (_, i) => {
      const ticket = thread.append(entries(2 * i, 2 * i + 2), progress);
      return ticket.durable.promise.then(() => durable.push(i));
    });
    assertEquals(durable, [], "nothing here waits for the medium");
    await Promise.all(waits);
    assertEquals(durable, Array.from({ length: 300 }, (_, i) => i));
    assert(thread.writes <= 4, `${thread.writes} transactions`);
    await thread.close();
    const again = open(path);
    assertEquals([text(again.recovered.snapshot), textsOf(again.recovered)], ["state", expected(600)]);
    assertEquals(readMark(`${path}.mark`), { sequence: 600, ...progress });
    again.journal.close();
  }));

Deno.test("Journal thread: closing it writes what is under way first", () =>
  withScratchFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { thread } = await JournalThread.open({ path, identity, maxBytes, onSnapshotWanted });
    thread.snapshot(bytes("state"), progress);
    thread.append(entries(0, 10), progress);
    await thread.close();
    const { journal, recovered } = open(path);
    assertEquals(textsOf(recovered), expected(10));
    journal.close();
  }));

Deno.test("Journal thread: what cannot be opened is refused as without a thread", () =>
  withScratchFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    open(path).journal.close();
    const foreign = { ...identity, program: "2.0.0" };
    const error = await assertRejects(
      () => JournalThread.open({ path, identity: foreign, maxBytes, onSnapshotWanted }),
      JournalError,
      "its program must be 2.0.0, but is 1.0.0",
    );
    assertEquals(error.code, "foreign");
  }));

/** The writer in this thread, with messages that wait for a turn; its disk may be full at any write. */
function inThread(isFull: () => boolean) {
  return ({ onMessage }: WriterHandlers) => {
    let turn: Promise<void> = Promise.resolve();
    const later = (body: () => void): void => {
      turn = turn.then(() => {}).then(() => {
        body();
      });
    };
    const writer = new JournalWriter({
      send: (message: FromJournal) => later(() => onMessage(message)),
      compact: ({ entries, sequence }) => {
        assertEquals(entries.at(-1)?.nowMs, 999 + sequence);
        return Promise.resolve(bytes(`state ${sequence}`));
      },
      beforeWrite: () => {
        if (isFull()) throw new JournalError("noSpace", "the disk is full");
      },
    });
    return {
      send: (message: Parameters<JournalWriter["receive"]>[0]) => later(() => writer.receive(message)),
      end() {},
    };
  };
}

Deno.test("Journal thread: a disk that is full at any write loses, doubles and reorders nothing", async () => {
  for (let seed = 1; seed <= cases(50); seed++) {
    await withScratchFolder(async (folder) => {
      const stream = openStream(keyOf(seed, "journal thread"));
      const path = `${folder}/journal.db`;
      const openWriter = inThread(() => nextBelow(stream, 3) === 0);
      const { thread } = await JournalThread.open({ path, identity, maxBytes, onSnapshotWanted, openWriter });
      thread.snapshot(bytes("state"), progress);
      const durable: number[] = [];
      /** As RunPause does: again and again until there is room. */
      const written = async (ticket: JournalTicket, last: number) => {
        for (let wait = ticket.durable.promise;; wait = thread.again(ticket)) {
          const isDone = await wait.then(() => true, () => false);
          if (isDone) return durable.push(last);
          for (let turns = nextBelow(stream, 20); turns > 0; turns--) await Promise.resolve();
        }
      };
      const waits: Promise<unknown>[] = [];
      let last = 0;
      for (let batch = 0; batch < 30; batch++) {
        const count = 1 + nextBelow(stream, 4);
        waits.push(written(thread.append(entries(last, last + count), progress), last + count));
        last += count;
        if (nextBelow(stream, 5) === 0) thread.snapshot(bytes(`state ${last}`), progress);
        for (let turns = nextBelow(stream, 12); turns > 0; turns--) await Promise.resolve();
      }
      await Promise.all(waits);
      assertEquals(durable, durable.toSorted((a, b) => a - b), `seed ${seed}: told in order`);
      await thread.close();
      const { journal, recovered } = open(path);
      const state = text(recovered.snapshot)!;
      const from = state === "state" ? 0 : Number(state.slice("state ".length));
      assertEquals(textsOf(recovered), expected(last).slice(from), `seed ${seed}`);
      assertEquals([recovered.cut, journal.sequence], [null, last]);
      journal.close();
    });
  }
});

const killed = `
  import { JournalThread } from "${
  new URL("../../../cli/orchestrator/journal/journal_thread.ts", import.meta.url).href
}";
  const { thread } = await JournalThread.open({
    ...{ path: Deno.args[0], identity: ${JSON.stringify(identity)}, maxBytes: ${maxBytes}, onSnapshotWanted() {} },
  });
  const progress = { round: 0, step: 0 };
  thread.snapshot(new Uint8Array([1]), progress);
  const event = (n) => ({ nowMs: 1000 + n, event: new TextEncoder().encode("event " + n) });
  for (let i = 0; ; i += 3) {
    const { durable } = thread.append([event(i), event(i + 1), event(i + 2)], progress);
    durable.promise.then(() => console.log(i + 3)); // its effects
    if (i % 30 === 0) await durable.promise;
  }
`;

Deno.test("Journal thread: whatever moment SIGKILL comes, every batch that was told durable is whole, and no half one is there", async () => {
  for (const lines of [1, 40, 700]) {
    await withScratchFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      await Deno.writeTextFile(`${folder}/killed.ts`, killed);
      const told = await killAfterLines(`${folder}/killed.ts`, { argument: path, lines });
      const { journal, recovered } = open(path);
      const found = textsOf(recovered);
      assert(found.length >= told && found.length % 3 === 0, `${found.length} entries, ${told} told`);
      assertEquals([found, recovered.cut], [expected(found.length), null]);
      journal.close();
    });
  }
});
