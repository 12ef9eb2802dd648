/** The journal's file when the world has been at it: damage is cut off with a sentence, or refused, never believed. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { pageBytes } from "../../../cli/orchestrator/journal/journal_file.ts";
import { JournalError } from "../../../cli/files/journal_error.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import { append, bytes, entries, failure, open, text, textsOf } from "../../support/swarm/journal_samples.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { cases } from "../../support/whole.ts";

function tamper(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

Deno.test("Journal: a damaged entry and everything behind it are cut off with a sentence", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    const damages = [
      { sql: "update entries set event = x'00' where sequence = 8", left: 2 },
      { sql: "delete from entries where sequence = 7", left: 1 },
      { sql: "update entries set now_ms = 5 where sequence = 6", left: 0 },
      { sql: "update entries set crc = crc + 1 where sequence = 9", left: 3 },
    ];
    for (const { sql, left } of damages) {
      for (const suffix of ["", "-wal", "-shm"]) {
        try {
          Deno.removeSync(`${path}${suffix}`);
        } catch (error) {
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        }
      }
      const { journal } = open(path);
      append(journal, 0, 5);
      journal.snapshot(bytes("state 5"));
      append(journal, 5, 10);
      journal.close();
      tamper(path, sql);
      const { journal: again, recovered } = open(path);
      assertEquals(textsOf(recovered), entries(5, 5 + left).map(({ event }) => text(event)), sql);
      assertStringIncludes(recovered.cut ?? "", `cut at entry ${5 + left}, the last good one`);
      append(again, 20, 21); // the chain continues from the last good entry
      again.close();
      const third = open(path);
      assertEquals([third.recovered.entries.length, third.recovered.cut], [left + 1, null]);
      third.journal.close();
    }
  });
});

/** A journal with a snapshot after five entries and five more behind it. */
function writeTen(path: string): void {
  const { journal } = open(path);
  append(journal, 0, 5);
  journal.snapshot(bytes("state 5"));
  append(journal, 5, 10);
  journal.close();
}

Deno.test("Journal: last entries that are gone without a trace are missed, and said", async () => {
  await withMemoryFolder((folder) => {
    const damages = [
      { sql: "delete from entries where sequence > 8", left: 3, why: "2 entries after it are missing" },
      { sql: "delete from entries", left: 0, why: "5 entries after it are missing" },
      { sql: "delete from head", left: 5, why: "it is unknown which entry was the last" },
      { sql: "update head set sequence = 7", left: 5, why: "it is unknown which entry was the last" },
      { sql: "update head set crc = crc + 1", left: 5, why: "it is unknown which entry was the last" },
      { sql: "update head set sequence = null", left: 5, why: "it is unknown which entry was the last" },
    ];
    for (const [index, { sql, left, why }] of damages.entries()) {
      const path = `${folder}/${index}.db`;
      writeTen(path);
      tamper(path, sql);
      const { journal, recovered } = open(path);
      assertEquals(textsOf(recovered), entries(5, 5 + left).map(({ event }) => text(event)), sql);
      assertStringIncludes(recovered.cut ?? "", `cut at entry ${5 + left}, the last good one, as ${why}`);
      append(journal, 20, 21);
      journal.close();
      const again = open(path);
      assertEquals([again.recovered.entries.length, again.recovered.cut], [left + 1, null], sql);
      again.journal.close();
    }
  });
});

Deno.test("Journal: a snapshot with another sequence number or chain is torn", async () => {
  await withMemoryFolder((folder) => {
    const changes = ["sequence = sequence + 1", "sequence = 0", "sequence = null", "chain = chain + 1", "chain = null"];
    for (const [index, change] of changes.entries()) {
      const path = `${folder}/${index}.db`;
      writeTen(path);
      tamper(path, `update snapshot set ${change}`);
      const error = failure(() => open(path));
      assertEquals([error.code, error.message.includes("its snapshot is torn")], ["damaged", true], change);
    }
  });
});

Deno.test("Journal: a tail is cut only from a file that SQLite finds intact; a broken one stays unchanged", async () => {
  await withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = open(path);
    journal.snapshot(bytes("state"));
    const marked = new Uint8Array(50_000).fill(0xa7);
    append(journal, 0, 5);
    journal.append([{ nowMs: 2000, event: marked }]);
    journal.close();
    tamper(path, "update entries set event = x'00' where sequence = 4");
    const file = await Deno.readFile(path);
    const isMarked = (page: number) =>
      file.subarray(page * pageBytes + 4, page * pageBytes + pageBytes).every((byte) => byte === 0xa7);
    const page = Array.from({ length: file.length / pageBytes }, (_, i) => i).find(isMarked);
    assert(page !== undefined);
    file.fill(0xff, page * pageBytes, page * pageBytes + 4); // where SQLite keeps the number of the page that follows
    await Deno.writeFile(path, file);
    const error = failure(() => open(path));
    assertEquals(error.code, "damaged");
    assertStringIncludes(error.message, "SQLite finds it broken");
    assertEquals(await Deno.readFile(path), file);
  });
});

Deno.test("Journal: a file that lost its beginning is refused while its log is there", async () => {
  await withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    await Deno.writeFile(`${path}-wal`, new Uint8Array(5000));
    for (const lose of [() => Deno.writeFile(path, new Uint8Array()), () => Deno.remove(path)]) {
      await lose();
      const error = failure(() => open(path));
      assertEquals([error.code, (await Deno.stat(`${path}-wal`)).size], ["damaged", 5000]);
    }
  });
});

Deno.test("Journal: entries without a snapshot, or a state without its identity, are not a journal", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = open(path);
    journal.snapshot(bytes("state"));
    append(journal, 0, 3);
    journal.close();
    tamper(path, "delete from snapshot");
    assertEquals(failure(() => open(path)).code, "damaged");
    tamper(path, "delete from entries");
    assertEquals(failure(() => open(path)).code, "damaged"); // its head says that there were some
    tamper(path, "insert into snapshot values (1, 0, 0, 0, x'00'); delete from meta");
    assertEquals(failure(() => open(path)).code, "foreign");
    tamper(path, "drop table head");
    assertEquals(failure(() => open(path)).code, "damaged");
  });
});

Deno.test("Journal: a torn snapshot cannot be trusted", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = open(path);
    journal.snapshot(bytes("state"));
    journal.close();
    tamper(path, "update snapshot set bytes = x'0102'");
    const error = failure(() => open(path));
    assertEquals(error.code, "damaged");
  });
});

Deno.test("Journal: flipped and cut bytes give a prefix of the truth or a refusal, never anything else", async () => {
  await withMemoryFolder(async (folder) => {
    const path = `${folder}/whole.db`;
    const { journal } = open(path);
    append(journal, 0, 20);
    journal.snapshot(bytes("state 20".repeat(500)));
    append(journal, 20, 200);
    journal.close();
    const whole = await Deno.readFile(path);
    const truth = entries(20, 200).map(({ event }) => text(event));
    let refused = 0;
    let cut = 0;
    for (let seed = 1; seed <= cases(200); seed++) {
      const stream = openStream(keyOf(seed, "journal damage"));
      const length = nextBelow(stream, 4) === 0 ? nextBelow(stream, whole.length) : whole.length;
      const damaged = whole.slice(0, length);
      for (let i = 1 + nextBelow(stream, 8); i > 0 && length > 0; i--) {
        damaged[nextBelow(stream, length)]! ^= 1 + nextBelow(stream, 255);
      }
      const copy = `${folder}/${seed}.db`;
      await Deno.writeFile(copy, damaged);
      try {
        const { journal, recovered } = open(copy);
        const found = textsOf(recovered);
        assertEquals(found, truth.slice(0, found.length), `seed ${seed}`);
        if (recovered.snapshot !== null) assertEquals(text(recovered.snapshot), "state 20".repeat(500), `seed ${seed}`);
        else assertEquals(found, [], `seed ${seed}`);
        if (found.length < truth.length) cut += 1;
        assert(found.length === truth.length || recovered.cut !== null || length === 0, `seed ${seed}: silent loss`);
        journal.close();
      } catch (error) {
        assert(error instanceof JournalError, `seed ${seed}: ${error}`);
        refused += 1;
      }
    }
    assert(refused > 2 && cut > 2, `${refused} refused, ${cut} cut`);
  });
});

Deno.test("Journal: one of V8's bytes, as earlier versions wrote, is refused by its format", async () => {
  await withMemoryFolder((folder) => {
    const path = `${folder}/journal.db`;
    writeTen(path);
    tamper(path, "update meta set value = 'iota-journal-4' where key = 'format'");
    const error = failure(() => open(path));
    assertEquals(error.code, "foreign");
    assertStringIncludes(error.message, "its format must be iota-journal-5, but is iota-journal-4");
  });
});
