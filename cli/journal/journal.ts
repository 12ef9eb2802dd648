/**
 * The orchestrator's journal on disk: one SQLite file with a snapshot of the state, the events since, and the bytes of wires
 * that the state still names.
 *
 * Entries and snapshots are opaque bytes here. Each entry's checksum covers its predecessor's, so a damaged or half-written
 * tail is found on open and cut back to the last good entry; damage before that is refused. Write-ahead logging with
 * synchronous = normal: what `append` returned from survives the death of the process; a power cut may cost the last
 * transactions but never leaves half of one. One process at a time holds the file. The entries are bounded by snapshots, the
 * file by `maxBytes`.
 */

import { Buffer } from "node:buffer";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { assert, AssertionFailure } from "../../core/assert.ts";
import { JournalError, journalProblem } from "./journal_error.ts";

/** What must be the same for a journal to be of use. */
export interface JournalIdentity {
  readonly run: string;
  readonly program: string; // its version: another one may replay the same events to another state
  readonly config: string; // hash of the run's configuration
}

export interface JournalEntry {
  readonly nowMs: number; // of the machine's clock
  readonly event: Uint8Array;
}

export interface StoredSegment {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface JournalBatch {
  readonly entries: readonly JournalEntry[];
  readonly segments: readonly StoredSegment[];
  readonly droppedSegments: readonly string[]; // deleted before `segments` are stored
}

export interface Recovered {
  readonly snapshot: Uint8Array | null; // null: a new journal
  readonly entries: readonly JournalEntry[]; // after the snapshot, in order
  readonly cut: string | null; // what was cut off, for people
}

export interface OpenJournalOptions {
  readonly path: string;
  readonly identity: JournalIdentity;
  readonly maxBytes: number;
}

const format = "iota-journal-1";
const pageBytes = 4096;
const snapshotEntries = 4096; // replaying them takes well below a second
const snapshotBytes = 32 * 2 ** 20; // of entries
const segmentSlackBytes = 64 * 2 ** 20; // free pages of dropped wires are used again, not given back

const schema = `
  create table if not exists meta (key text primary key, value text not null) without rowid;
  create table if not exists snapshot (id integer primary key check (id = 1), sequence integer, crc integer, bytes blob);
  create table if not exists entries (sequence integer primary key, crc integer, now_ms real, event blob);
  create table if not exists segments (hash text primary key, bytes blob);
`;

interface Statements {
  readonly addEntry: StatementSync;
  readonly addSegment: StatementSync;
  readonly dropSegment: StatementSync;
  readonly segment: StatementSync;
}

export class Journal {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #statements: Statements;
  #sequence = 0; // of the last entry
  #crc = 0;
  #entries = 0; // since the snapshot
  #entryBytes = 0;

  /** Opens or makes the journal. Another run's, version's or configuration's is refused (`foreign`). */
  static open(options: OpenJournalOptions): { journal: Journal; recovered: Recovered } {
    return attempt(options.path, () => {
      const db = openDatabase(options);
      try {
        checkIdentity(db, options.identity);
        const journal = new Journal(db, options);
        return { journal, recovered: journal.#recover() };
      } catch (error) {
        db.close();
        throw error;
      }
    });
  }

  private constructor(db: DatabaseSync, options: OpenJournalOptions) {
    this.#db = db;
    this.#path = options.path;
    this.#maxBytes = options.maxBytes;
    this.#statements = {
      addEntry: db.prepare("insert into entries (sequence, crc, now_ms, event) values (?, ?, ?, ?)"),
      addSegment: db.prepare("insert or ignore into segments (hash, bytes) values (?, ?)"),
      dropSegment: db.prepare("delete from segments where hash = ?"),
      segment: db.prepare("select bytes from segments where hash = ?"),
    };
  }

  /** One transaction: all of it is there after a crash, or nothing. */
  append({ entries, segments, droppedSegments }: JournalBatch): void {
    const { addEntry, addSegment, dropSegment } = this.#statements;
    let sequence = this.#sequence;
    let crc = this.#crc;
    let bytes = 0;
    this.#transaction(() => {
      for (const hash of droppedSegments) dropSegment.run(hash);
      for (const { hash, bytes } of segments) addSegment.run(hash, bytes);
      for (const { nowMs, event } of entries) {
        assert(Number.isFinite(nowMs) && !Object.is(nowMs, -0), `An entry's time must be a number: ${nowMs}`);
        sequence += 1;
        crc = chain(crc, { nowMs, event });
        bytes += event.byteLength;
        addEntry.run(sequence, crc, nowMs, event);
      }
    });
    this.#sequence = sequence;
    this.#crc = crc;
    this.#entries += entries.length;
    this.#entryBytes += bytes;
  }

  /** Whether enough has come since the last snapshot that replaying it would take long. */
  get needsSnapshot(): boolean {
    return this.#entries >= snapshotEntries || this.#entryBytes >= snapshotBytes;
  }

  /** The state after every entry so far; older entries are not needed any more. */
  snapshot(state: Uint8Array): void {
    this.#transaction(() => {
      this.#db.prepare("insert or replace into snapshot (id, sequence, crc, bytes) values (1, ?, ?, ?)")
        .run(this.#sequence, crc32(state), state);
      this.#db.prepare("insert or replace into meta (key, value) values ('crc', ?)").run(String(this.#crc));
      this.#db.prepare("delete from entries where sequence <= ?").run(this.#sequence);
    });
    this.#entries = 0;
    this.#entryBytes = 0;
  }

  segment(hash: string): Uint8Array | null {
    const row = attempt(this.#path, () => this.#statements.segment.get(hash));
    const bytes = row?.["bytes"];
    return bytes instanceof Uint8Array ? bytes : null;
  }

  /** Deletes all segments but these. */
  keepSegments(hashes: ReadonlySet<string>): void {
    this.#transaction(() => {
      for (const { hash } of this.#db.prepare("select hash from segments").all()) {
        if (typeof hash === "string" && !hashes.has(hash)) this.#statements.dropSegment.run(hash);
      }
    });
  }

  usage(): { entries: number; entryBytes: number; fileBytes: number } {
    const row = this.#db.prepare("pragma page_count").get();
    return { entries: this.#entries, entryBytes: this.#entryBytes, fileBytes: Number(row?.["page_count"]) * pageBytes };
  }

  close(): void {
    this.#db.close();
  }

  #transaction(body: () => void): void {
    attempt(this.#path, () => {
      this.#db.exec("begin immediate");
      try {
        body();
        this.#db.exec("commit");
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("rollback"); // a full disk may have done it already
        throw error;
      }
    }, this.#maxBytes);
  }

  #recover(): Recovered {
    const row = this.#db.prepare("select sequence, crc, bytes from snapshot").get();
    const snapshot = row?.["bytes"];
    if (row === undefined || !(snapshot instanceof Uint8Array)) {
      const left = this.#db.prepare("select count(*) as n from entries").get();
      if (Number(left?.["n"]) === 0) return { snapshot: null, entries: [], cut: null };
      throw new JournalError("damaged", damagedText(this.#path, "it has entries but no snapshot"));
    }
    if (crc32(snapshot) !== row["crc"]) {
      throw new JournalError("damaged", damagedText(this.#path, "its snapshot is torn"));
    }
    this.#sequence = Number(row["sequence"]);
    const entries = this.#goodEntries();
    const stored = this.#db.prepare("select count(*) as n from entries").get();
    const cutCount = Number(stored?.["n"]) - entries.length;
    if (cutCount > 0) this.#cutAfter(this.#sequence);
    this.#entries = entries.length;
    return { snapshot, entries, cut: cutCount === 0 ? null : cutText(cutCount) };
  }

  /** The entries behind the snapshot up to the first that is missing or damaged. */
  #goodEntries(): JournalEntry[] {
    const good: JournalEntry[] = [];
    const rows = this.#db.prepare("select sequence, crc, now_ms, event from entries order by sequence").iterate();
    this.#crc = this.#crcAtSnapshot();
    for (const row of rows) {
      const event = row["event"];
      const nowMs = row["now_ms"];
      if (!(event instanceof Uint8Array) || typeof nowMs !== "number") break;
      const entry = { nowMs, event };
      const crc = chain(this.#crc, entry);
      if (row["sequence"] !== this.#sequence + 1 || row["crc"] !== crc) break;
      good.push(entry);
      this.#sequence += 1;
      this.#crc = crc;
      this.#entryBytes += event.byteLength;
    }
    return good;
  }

  /** Where the chain of checksums begins: the entries before the snapshot are gone. */
  #crcAtSnapshot(): number {
    const row = this.#db.prepare("select value from meta where key = 'crc'").get();
    return row === undefined ? 0 : Number(row["value"]);
  }

  #cutAfter(sequence: number): void {
    this.#db.prepare("delete from entries where sequence > ?").run(sequence);
  }
}

function openDatabase({ path, maxBytes }: OpenJournalOptions): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec(`
      pragma locking_mode = exclusive;
      pragma page_size = ${pageBytes};
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma wal_autocheckpoint = 1000;
      pragma journal_size_limit = ${segmentSlackBytes};
      pragma max_page_count = ${Math.ceil(maxBytes / pageBytes)};
      ${schema}
    `);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkIdentity(db: DatabaseSync, identity: JournalIdentity): void {
  const wanted = { format, ...identity };
  const rows = db.prepare("select key, value from meta").all();
  const found = new Map(rows.map((row) => [row["key"], row["value"]]));
  const isNew = found.size === 0 && db.prepare("select 1 from snapshot").get() === undefined;
  for (const [key, value] of Object.entries(wanted)) {
    if (isNew) db.prepare("insert or replace into meta (key, value) values (?, ?)").run(key, value);
    else if (found.get(key) !== value) {
      const text = `Cannot use the journal as its ${key} must be ${value}: current value is ${found.get(key)}`;
      throw new JournalError("foreign", text);
    }
  }
}

/** Checksum of an entry and everything before it. */
function chain(previous: number, { nowMs, event }: JournalEntry): number {
  const head = Buffer.alloc(16);
  head.writeDoubleLE(nowMs, 0);
  head.writeUInt32LE(previous, 8);
  head.writeUInt32LE(event.byteLength, 12);
  return crc32(event, crc32(head));
}

function attempt<T>(path: string, body: () => T, maxBytes?: number): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof AssertionFailure) throw error; // our own bug stays one
    throw journalProblem(error, { path, maxBytes: maxBytes ?? null });
  }
}

function damagedText(path: string, why: string): string {
  return `Cannot read the journal '${path}' as ${why}`;
}

function cutText(count: number): string {
  return `The last ${count} entries of the journal were damaged and are cut off; what they told will be done again`;
}
