/**
 * The SQLite file under the journal. Refuses a file of another run, program version or configuration (`foreign`), and
 * one without its beginning (`damaged`).
 */

import { DatabaseSync } from "node:sqlite";
import { JournalError, journalProblem } from "../../files/journal_error.ts";

export interface JournalIdentity {
  readonly run: string;
  readonly program: string; // another version may replay to another state
  readonly config: string; // hash
}

export interface OpenJournalOptions {
  readonly path: string;
  readonly identity: JournalIdentity;
  readonly maxBytes: number;
}

const format = "iota-journal-5";
export const pageBytes = 16_384;
const checkpointPages = 1000; // 16 MiB of log
const logSlackBytes = 64 * 2 ** 20; // of the log, kept for later entries

const schema = `
  create table meta (key text primary key, value text not null) without rowid;
  create table snapshot (id integer primary key check (id = 1), sequence integer, chain integer, crc integer, bytes blob);
  create table head (id integer primary key check (id = 1), sequence integer, crc integer);
  create table entries (sequence integer primary key, crc integer, now_ms real, event blob);
`;
const tables = 4;

export function openJournalFile(options: OpenJournalOptions): DatabaseSync {
  const { path, identity, maxBytes } = options;
  refuseHeadless(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(`
      pragma locking_mode = exclusive;
      pragma page_size = ${pageBytes};
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma wal_autocheckpoint = ${checkpointPages};
      pragma journal_size_limit = ${logSlackBytes};
      pragma max_page_count = ${Math.ceil(maxBytes / pageBytes)};
    `);
    const found = Number(db.prepare("select count(*) as n from sqlite_schema where type = 'table'").get()?.["n"]);
    if (found === 0) begin(db, identity);
    else if (found < tables) throw damaged(path, `it has ${found} of ${tables} tables`);
    checkIdentity(db, identity);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function refuseHeld(path: string): void {
  if (bytesOf(path) === 0) return;
  try {
    const db = new DatabaseSync(path);
    try {
      db.exec("pragma locking_mode = exclusive; begin immediate; rollback");
    } finally {
      db.close();
    }
  } catch (error) {
    const problem = journalProblem(error, { path, maxBytes: null });
    if (problem.code === "locked") throw problem;
  }
}

/** SQLite takes an empty file as new and deletes the log that holds its content. */
function refuseHeadless(path: string): void {
  if (bytesOf(path) === 0 && bytesOf(`${path}-wal`) > 0) {
    throw damaged(path, "its beginning is gone: it is empty while its log is not");
  }
}

function bytesOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

function begin(db: DatabaseSync, identity: JournalIdentity): void {
  db.exec(`begin immediate; ${schema}`);
  const insert = db.prepare("insert into meta (key, value) values (?, ?)");
  for (const [key, value] of Object.entries({ format, ...identity })) insert.run(key, value);
  db.exec("commit");
}

function checkIdentity(db: DatabaseSync, identity: JournalIdentity): void {
  const found = new Map(db.prepare("select key, value from meta").all().map((row) => [row["key"], row["value"]]));
  for (const [key, value] of Object.entries({ format, ...identity })) {
    if (found.get(key) === value) continue;
    const text = `Cannot use the journal: its ${key} must be ${value}, but is ${found.get(key)}`;
    throw new JournalError("foreign", text);
  }
}

export function damaged(path: string, why: string): JournalError {
  return new JournalError("damaged", `Cannot read the journal '${path}': ${why}`);
}
