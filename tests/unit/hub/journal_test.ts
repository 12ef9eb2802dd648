/** The journal's file: appended entries survive any kill, and no other outcome is possible. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openJournalFile } from "../../../cli/orchestrator/journal/journal_file.ts";
import {
  append,
  bytes,
  entries,
  failure,
  identity,
  maxBytes,
  open,
  text,
  textsOf,
} from "../../support/swarm/journal_samples.ts";
import { killAfterLines } from "../../support/process/killed_program.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";

Deno.test("Journal: a new one is empty; entries and snapshot are there when it is opened again", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    const { journal, recovered } = open(path);
    assertEquals([recovered.snapshot, recovered.entries.length, recovered.cut], [null, 0, null]);
    journal.snapshot(bytes("state 0"));
    append(journal, 0, 3);
    journal.snapshot(bytes("state 3"));
    append(journal, 3, 5);
    append(journal, 5, 6);
    journal.close();
    const again = open(path);
    assertEquals(text(again.recovered.snapshot), "state 3");
    assertEquals(textsOf(again.recovered), ["event 3", "event 4", "event 5"]);
    assertEquals(again.recovered.entries.map(({ nowMs }) => nowMs), [1003, 1004, 1005]);
    again.journal.close();
  });
});

Deno.test("Journal: another run, version or configuration is refused by name", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    open(path).journal.close();
    for (const changed of [{ run: "other" }, { program: "2.0.0" }, { config: "def" }]) {
      const error = failure(() => open(path, changed));
      assertEquals(error.code, "foreign");
      assertStringIncludes(error.message, `its ${Object.keys(changed)[0]} must be ${Object.values(changed)[0]}`);
    }
    open(path).journal.close();
  });
});

Deno.test("Journal: a second process, and a file that is not a journal, are refused with a message", async () => {
  await withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = open(path);
    const locked = failure(() => open(path));
    assertEquals(locked.code, "locked");
    assertStringIncludes(locked.message, "the run's orchestrator seems to be running: ");
    journal.close();
    await Deno.writeTextFile(`${folder}/text`, "not a database ".repeat(1000));
    assertEquals(failure(() => open(`${folder}/text`)).code, "damaged");
    assertEquals(failure(() => open(folder)).code, "storage");
    assertEquals(failure(() => open(`${folder}/missing/journal.db`)).code, "storage");
    await Deno.writeFile(`${folder}/empty`, new Uint8Array());
    const empty = open(`${folder}/empty`);
    assertEquals(empty.recovered.snapshot, null);
    empty.journal.close();
  });
});

Deno.test("Journal: a batch that does not fit is not partly written, and earlier entries stay", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = open(path, { maxBytes: 200_000 });
    journal.snapshot(bytes("state"));
    append(journal, 0, 2);
    const large = [...entries(2, 4), { nowMs: 1004, event: new Uint8Array(400_000) }];
    const error = failure(() => journal.append(large));
    assertEquals(error.code, "tooLarge");
    assertStringIncludes(error.message, "limit of 200000 bytes");
    append(journal, 2, 3); // it continues
    journal.close();
    const { journal: again, recovered } = open(path);
    assertEquals(textsOf(recovered), ["event 0", "event 1", "event 2"]);
    again.close();
  });
});

Deno.test("Journal: a snapshot is due after so many entries or bytes, and not before", async () => {
  await withMemoryFolder((folder) => {
    const { journal } = open(`${folder}/journal.db`);
    journal.snapshot(bytes("state"));
    append(journal, 0, 4095);
    assertEquals(journal.needsSnapshot, false);
    append(journal, 4095, 4096);
    assertEquals(journal.needsSnapshot, true);
    journal.snapshot(bytes("state"));
    assertEquals([journal.needsSnapshot, journal.usage().entries], [false, 0]);
    journal.close();
  });
});

Deno.test("Journal: a large state waits for as many bytes, and for 32,768 entries at most", async () => {
  await withMemoryFolder((folder) => {
    const { journal } = open(`${folder}/journal.db`);
    const state = new Uint8Array(60_000);
    journal.snapshot(state);
    const isDue = () => journal.needsSnapshot;
    append(journal, 0, 4096); // "event 0" and so on: below 45 kB together
    assertEquals(isDue(), false);
    append(journal, 4096, 7000);
    assertEquals(isDue(), true);
    journal.snapshot(new Uint8Array(100_000));
    journal.append(Array.from({ length: 32_767 }, nothing));
    assertEquals(isDue(), false);
    journal.append([nothing()]);
    assertEquals(isDue(), true);
    journal.close();
  });
});

const nothing = () => ({ nowMs: 1, event: new Uint8Array(1) });

const writer = `
  import { Journal } from "./cli/orchestrator/journal/journal.ts";
  const { journal } = Journal.open({ path: Deno.args[0], identity: ${
  JSON.stringify(identity)
}, maxBytes: ${maxBytes} });
  journal.snapshot(new Uint8Array([1]));
  for (let i = 0; ; i += 3) {
    const event = (n) => ({ nowMs: 1000 + n, event: new TextEncoder().encode("event " + n) });
    journal.append([event(i), event(i + 1), event(i + 2)]);
    console.log(i + 3);
  }
`;

Deno.test("Journal: whatever moment SIGKILL comes, every acknowledged batch is whole and no half one is there", async () => {
  for (const lines of [1, 7, 40, 333]) {
    await withMemoryFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      const program = `${folder}/writer.ts`;
      const root = new URL("../../../", import.meta.url);
      await Deno.writeTextFile(program, writer.replace("./cli", new URL("cli", root).href));
      const told = await killAfterLines(program, { argument: path, lines });
      const { journal, recovered } = open(path);
      const found = textsOf(recovered);
      assert(found.length >= told && found.length % 3 === 0, `${found.length} entries, ${told} acknowledged`);
      assertEquals(found, entries(0, found.length).map(({ event }) => text(event)));
      assertEquals(recovered.cut, null);
      journal.close();
    });
  }
});

Deno.test("Journal: every batch is synced to the medium before it is acknowledged", async () => {
  await withMemoryFolder((folder) => {
    const db = openJournalFile({ path: `${folder}/journal.db`, identity, maxBytes });
    assertEquals(db.prepare("pragma synchronous").get()?.["synchronous"], 2, "full");
    db.close();
  });
});
