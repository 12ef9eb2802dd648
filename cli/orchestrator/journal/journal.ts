/**
 * The orchestrator's journal on disk: one SQLite file with a snapshot of the state and the events since.
 *
 * Each entry's checksum covers its predecessor's, a snapshot keeps that of the last entry before it, and a head row
 * names the last entry. So a damaged or missing tail is found on open and cut back to the last good entry, if SQLite
 * finds the file sound; earlier damage is refused, and a refused file is not written to. Write-ahead logging with
 * synchronous = full: once `append` returns, its entries survive a power cut, if the medium honours syncs. Snapshots
 * bound the entries, `maxBytes` the file.
 */

import { Buffer } from "node:buffer";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { assert, AssertionFailure } from "../../../core/assert.ts";
import { JournalEpoch } from "./journal_epoch.ts";
import { JournalError, journalProblem } from "../../files/journal_error.ts";
import { damaged, openJournalFile, type OpenJournalOptions, pageBytes } from "./journal_file.ts";

export interface JournalEntry {
  readonly nowMs: number;
  readonly event: Uint8Array;
}

export interface Recovered {
  readonly snapshot: Uint8Array | null; // null: a new journal
  readonly entries: readonly JournalEntry[]; // after the snapshot
  readonly cut: string | null; // what was cut off, in words
}

export interface History {
  readonly snapshot: Uint8Array;
  readonly entries: readonly JournalEntry[];
  readonly sequence: number;
}

const slackBytes = 16 * pageBytes; // of tables around the content
const quickBytes = 2 ** 20; // prepared in a few milliseconds
const longEntries = 4096; // replayed in well below a second
const longBytes = 32 * 2 ** 20; // of entries
const mostEntries = 8 * longEntries; // for any size of state: a few seconds' replay (`./lab bench hub restart`)

/**
 * Closing a fenced journal, as the garbage collector would, writes SQLite's log into a file that is another's by now.
 */
const abandoned: DatabaseSync[] = [];

interface Statements {
  readonly addEntry: StatementSync;
  readonly setHead: StatementSync;
}

export class Journal {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #statements: Statements;
  #epoch: JournalEpoch | null = null; // null until the file is known to be sound
  #isFenced = false;
  #sequence = 0; // of the last entry
  #crc = 0;
  #entries = 0; // since the snapshot
  #entryBytes = 0;
  #stateBytes = 0;

  static open(options: OpenJournalOptions): { journal: Journal; recovered: Recovered } {
    return attempt(options.path, () => {
      const db = openJournalFile(options);
      try {
        const journal = new Journal(db, options);
        const recovered = journal.#recover();
        journal.#raiseEpoch();
        return { journal, recovered };
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
      setHead: db.prepare("insert or replace into head (id, sequence, crc) values (1, ?, ?)"),
    };
  }

  /** One transaction. */
  append(entries: readonly JournalEntry[]): void {
    const { addEntry, setHead } = this.#statements;
    let sequence = this.#sequence;
    let crc = this.#crc;
    const bytes = entries.reduce((sum, { event }) => sum + event.byteLength, 0);
    this.#transaction(bytes, () => {
      for (const { nowMs, event } of entries) {
        assert(Number.isFinite(nowMs) && !Object.is(nowMs, -0), `An entry's time must be a number: ${nowMs}`);
        sequence += 1;
        crc = chain(crc, { nowMs, event });
        addEntry.run(sequence, crc, nowMs, event);
      }
      setHead.run(sequence, crc);
    });
    this.#sequence = sequence;
    this.#crc = crc;
    this.#entries += entries.length;
    this.#entryBytes += bytes;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get needsSnapshot(): boolean {
    return isSnapshotDue({ entries: this.#entries, entryBytes: this.#entryBytes, stateBytes: this.#stateBytes });
  }

  snapshot(state: Uint8Array): void {
    this.#replaceSnapshot({ sequence: this.#sequence, chain: this.#crc, state });
  }

  history(): History {
    const snapshot = this.#db.prepare("select bytes from snapshot").get()?.["bytes"];
    assert(snapshot instanceof Uint8Array, "A journal whose history is asked for must have a snapshot");
    const entries: JournalEntry[] = [];
    for (const row of this.#db.prepare("select now_ms, event from entries order by sequence").iterate()) {
      entries.push({ nowMs: row["now_ms"] as number, event: row["event"] as Uint8Array });
    }
    return { snapshot, entries, sequence: this.#sequence };
  }

  /** Entries after it stay. */
  compact({ sequence, state }: { readonly sequence: number; readonly state: Uint8Array }): void {
    const chain = this.#db.prepare("select crc from entries where sequence = ?").get(sequence)?.["crc"];
    assert(typeof chain === "number", `A history that is replaced must end with an entry: ${sequence}`);
    this.#replaceSnapshot({ sequence, chain, state });
  }

  #replaceSnapshot({ sequence, chain, state }: { sequence: number; chain: number; state: Uint8Array }): void {
    this.#transaction(state.byteLength, () => {
      this.#db.prepare("insert or replace into snapshot (id, sequence, chain, crc, bytes) values (1, ?, ?, ?, ?)")
        .run(sequence, chain, snapshotCrc({ sequence, chain, state }), state);
      this.#db.prepare("delete from entries where sequence <= ?").run(sequence);
      this.#statements.setHead.run(this.#sequence, this.#crc);
    });
    const left = this.#db.prepare("select count(*) as n, sum(length(event)) as bytes from entries").get();
    this.#entries = Number(left?.["n"]);
    this.#entryBytes = Number(left?.["bytes"] ?? 0);
    this.#stateBytes = state.byteLength;
  }

  /** Its file is not closed either. */
  get isFenced(): boolean {
    return this.#isFenced;
  }

  usage(): { entries: number; entryBytes: number; fileBytes: number } {
    const row = this.#db.prepare("pragma page_count").get();
    return { entries: this.#entries, entryBytes: this.#entryBytes, fileBytes: Number(row?.["page_count"]) * pageBytes };
  }

  close(): void {
    if (this.#isFenced) abandoned.push(this.#db);
    else this.#db.close();
  }

  #raiseEpoch(): void {
    const found = Number(this.#db.prepare("select value from meta where key = 'epoch'").get()?.["value"] ?? 0);
    const epoch = JournalEpoch.raise(this.#path, found);
    this.#epoch = epoch;
    this.#transaction(0, () => {
      this.#db.prepare("insert or replace into meta (key, value) values ('epoch', ?)").run(String(epoch.value));
    });
  }

  #transaction(bytes: number, body: () => void): void {
    attempt(this.#path, () => {
      this.#db.exec("begin immediate");
      try {
        this.#assertOwn();
        body();
        if (bytes > quickBytes) this.#assertOwn();
        this.#db.exec("commit");
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("rollback"); // a full disk may have rolled it back already
        if (error instanceof AssertionFailure) throw error;
        throw journalProblem(error, { path: this.#path, maxBytes: this.#maxBytes, isAtLimit: !this.#hasPages(bytes) });
      }
    });
  }

  /** Before anything reaches the file, and again before a commit that took long to prepare. */
  #assertOwn(): void {
    try {
      this.#epoch?.assertOwn();
    } catch (error) {
      this.#isFenced ||= error instanceof JournalError && error.code === "fenced";
      throw error;
    }
  }

  #hasPages(bytes: number): boolean {
    const count = (name: string) => Number(this.#db.prepare(`pragma ${name}`).get()?.[name]);
    const free = count("max_page_count") - count("page_count") + count("freelist_count");
    return free * pageBytes > bytes + bytes / 16 + slackBytes;
  }

  #recover(): Recovered {
    const snapshot = this.#snapshot();
    if (snapshot === null) return { snapshot, entries: [], cut: null };
    const entries = this.#goodEntries();
    const stored = Number(this.#db.prepare("select count(*) as n from entries").get()?.["n"]);
    const cut = this.#cutText(stored - entries.length);
    if (cut !== null) this.#cut();
    this.#entries = entries.length;
    this.#entryBytes = entries.reduce((sum, { event }) => sum + event.byteLength, 0);
    return { snapshot, entries, cut };
  }

  #snapshot(): Uint8Array | null {
    const row = this.#db.prepare("select sequence, chain, crc, bytes from snapshot").get();
    if (row === undefined) {
      for (const table of ["entries", "head"]) {
        if (this.#db.prepare(`select 1 from ${table}`).get() !== undefined) throw this.#damaged("it has no snapshot");
      }
      return null;
    }
    const { sequence, chain, crc, bytes: state } = row;
    const isWhole = state instanceof Uint8Array && typeof sequence === "number" && typeof chain === "number" &&
      crc === snapshotCrc({ sequence, chain, state });
    if (!isWhole) throw this.#damaged("its snapshot is torn");
    this.#sequence = sequence;
    this.#crc = chain;
    this.#stateBytes = state.byteLength;
    return state;
  }

  /** Up to the first missing or damaged one. */
  #goodEntries(): JournalEntry[] {
    const good: JournalEntry[] = [];
    const rows = this.#db.prepare("select sequence, crc, now_ms, event from entries order by sequence").iterate();
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

  /** Null: nothing durable was lost. */
  #cutText(damaged: number): string | null {
    const head = this.#db.prepare("select sequence, crc from head").get();
    const last = head?.["sequence"];
    if (damaged === 0 && last === this.#sequence && head?.["crc"] === this.#crc) return null;
    const known = typeof last === "number" && last > this.#sequence
      ? `${last - this.#sequence} entries after it are missing or damaged`
      : damaged > 0
      ? `${damaged} entries after it are damaged`
      : "it is unknown which entry was the last";
    return `The journal is cut at entry ${this.#sequence}, the last good one, as ${known}; the work they recorded will be done again`;
  }

  /** In a broken file, deleting rows would break more. */
  #cut(): void {
    const problem = this.#db.prepare("pragma quick_check(1)").get()?.["quick_check"];
    if (problem !== "ok") throw this.#damaged(`SQLite finds it broken (${problem})`);
    this.#transaction(0, () => {
      this.#db.prepare("delete from entries where sequence > ?").run(this.#sequence);
      this.#statements.setHead.run(this.#sequence, this.#crc);
    });
  }

  #damaged(why: string): JournalError {
    return damaged(this.#path, why);
  }
}

/**
 * Replaying would take long. A large state waits until the entries are as large, so that not only snapshots are
 * written.
 */
export function isSnapshotDue(
  { entries, entryBytes, stateBytes }: { entries: number; entryBytes: number; stateBytes: number },
): boolean {
  const isLong = entries >= longEntries || entryBytes >= longBytes;
  return isLong && (entryBytes >= stateBytes || entries >= mostEntries);
}

function snapshotCrc(of: { sequence: number; chain: number; state: Uint8Array }): number {
  const head = Buffer.alloc(16);
  head.writeDoubleLE(of.sequence, 0);
  head.writeDoubleLE(of.chain, 8);
  return crc32(of.state, crc32(head));
}

/** Covers the entry and everything before it. */
function chain(previous: number, { nowMs, event }: JournalEntry): number {
  const head = Buffer.alloc(16);
  head.writeDoubleLE(nowMs, 0);
  head.writeUInt32LE(previous, 8);
  head.writeUInt32LE(event.byteLength, 12);
  return crc32(event, crc32(head));
}

function attempt<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof AssertionFailure) throw error; // our own bug
    throw journalProblem(error, { path, maxBytes: null });
  }
}
