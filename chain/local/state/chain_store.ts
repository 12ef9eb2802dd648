/**
 * The embedded chain in one SQLite file, a transaction per block. Write-ahead logging with synchronous = normal: blocks
 * survive the process, but a power cut may cost the last ones. Opening checks the root and the sequence of blocks.
 * `:memory:` keeps nothing.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { AssertionFailure } from "../../../core/assert.ts";
import { hashOfHeader } from "../block/header.ts";
import type { LocalHeader } from "../block/ledger.ts";
import { recordOfText, type TableName, textOfRecord } from "./records.ts";
import { type RecordChange, State } from "./state.ts";

type ChainStoreCode =
  | "locked" // by another process
  | "foreign" // another genesis or version
  | "damaged"
  | "unwritable";

export class ChainStoreError extends Error {
  override readonly name = "ChainStoreError";
  constructor(readonly code: ChainStoreCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** `body`: timestamp, outcomes, events. */
export interface StoredBlock {
  readonly header: LocalHeader;
  readonly hash: Uint8Array;
  readonly body: unknown;
}

interface BlockRow {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly parent: Uint8Array;
  readonly state_root: Uint8Array;
  readonly calls_root: Uint8Array;
  readonly body: string;
}

const format = "iota-chain-1";
const schema = `
  create table if not exists meta (key text primary key, value text not null) without rowid;
  create table if not exists record (tab text, key text, text text not null, primary key (tab, key)) without rowid;
  create table if not exists block (number integer primary key, hash blob not null unique, parent blob not null,
    state_root blob not null, calls_root blob not null, body text not null);
`;

export class ChainStore {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #statements: Readonly<Record<"put" | "drop" | "addBlock" | "byNumber" | "byHash" | "newest", StatementSync>>;

  private constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.#statements = {
      put: db.prepare("insert or replace into record (tab, key, text) values (?, ?, ?)"),
      drop: db.prepare("delete from record where tab = ? and key = ?"),
      addBlock: db.prepare("insert into block values (?, ?, ?, ?, ?, ?)"),
      byNumber: db.prepare("select * from block where number = ?"),
      byHash: db.prepare("select * from block where hash = ?"),
      newest: db.prepare("select * from block order by number desc limit 1"),
    };
  }

  /** `genesis` null: the file's own. */
  static open(path: string, genesis: unknown): ChainStore {
    return attempt(path, () => {
      const db = new DatabaseSync(path);
      try {
        db.exec("pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;");
        db.exec(schema);
        identify(db, { path, genesis: genesis === null ? null : textOfRecord(genesis) });
        return new ChainStore(db, path);
      } catch (error) {
        db.close();
        throw error;
      }
    });
  }

  genesis(): unknown {
    const row = this.#db.prepare("select value from meta where key = 'genesis'").get();
    return recordOfText(String(row?.["value"]));
  }

  /** Null before the first block. */
  recover(): { readonly state: State; readonly head: StoredBlock } | null {
    return attempt(this.#path, () => {
      const head = this.#read(this.#statements.newest);
      if (head === null) return null;
      const state = new State();
      for (const row of this.#db.prepare("select tab, key, text from record").iterate()) {
        const text = String(row["text"]);
        state.load(String(row["tab"]) as TableName, String(row["key"]), { text, value: recordOfText(text) });
      }
      this.#verify(state, head);
      return { state, head };
    });
  }

  append(block: StoredBlock, changes: readonly RecordChange[]): void {
    const { put, drop, addBlock } = this.#statements;
    attempt(this.#path, () => {
      this.#db.exec("begin immediate");
      try {
        for (const { table, key, text } of changes) {
          if (text === null) drop.run(table, key);
          else put.run(table, key, text);
        }
        const { header, hash, body } = block;
        addBlock.run(
          header.number,
          hash,
          header.parentHash,
          header.stateRoot,
          header.extrinsicsRoot,
          textOfRecord(body),
        );
        this.#db.exec("commit");
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("rollback"); // on a full disk SQLite has already done so
        throw error;
      }
    });
  }

  blockByNumber(number: number): StoredBlock | null {
    return this.#read(this.#statements.byNumber, number);
  }

  blockByHash(hash: Uint8Array): StoredBlock | null {
    return this.#read(this.#statements.byHash, hash);
  }

  close(): void {
    this.#db.close();
  }

  #read(statement: StatementSync, ...key: (number | Uint8Array)[]): StoredBlock | null {
    const row = statement.get(...key) as unknown as BlockRow | undefined;
    if (row === undefined) return null;
    const header = {
      number: row.number,
      parentHash: row.parent,
      stateRoot: row.state_root,
      extrinsicsRoot: row.calls_root,
    };
    return { header, hash: row.hash, body: recordOfText(row.body) };
  }

  #verify(state: State, head: StoredBlock): void {
    const { number, stateRoot } = head.header;
    if (state.root.toHex() !== stateRoot.toHex()) {
      throw damaged(this.#path, `its records do not match the state root of block ${number}`);
    }
    if (hashOfHeader(head.header).toHex() !== head.hash.toHex()) {
      throw damaged(this.#path, `the header of block ${number} does not have its hash`);
    }
    const broken = this.#db.prepare(`select b.number as number from block b left join block p on p.number = b.number - 1
      where b.number > 0 and (p.hash is null or p.hash <> b.parent) limit 1`).get();
    if (broken !== undefined) throw damaged(this.#path, `block ${broken["number"]} does not follow the one before it`);
  }
}

function identify(db: DatabaseSync, of: { readonly path: string; readonly genesis: string | null }): void {
  const meta = new Map(
    db.prepare("select key, value from meta").all().map((row) => [String(row["key"]), String(row["value"])]),
  );
  if (meta.size === 0) {
    if (of.genesis === null) {
      throw new ChainStoreError("damaged", `Cannot open the chain at ${of.path} as there is none: give it a genesis`);
    }
    const add = db.prepare("insert into meta (key, value) values (?, ?)");
    add.run("genesis", of.genesis);
    add.run("format", format);
    return;
  }
  const isForeign = meta.get("format") !== format || (of.genesis !== null && of.genesis !== meta.get("genesis"));
  if (!isForeign) return;
  const what = meta.get("format") === format ? "another genesis" : `format '${meta.get("format")}'`;
  throw new ChainStoreError(
    "foreign",
    `Cannot open the chain at ${of.path} as it was made with ${what}: use another path, or delete the file to start over`,
  );
}

function damaged(path: string, what: string, cause?: unknown): ChainStoreError {
  const text = `Cannot open the chain at ${path} as ${what}: restore the file from a copy, or delete it to start over`;
  return new ChainStoreError("damaged", text, { cause });
}

function attempt<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw storeProblem(path, error);
  }
}

export function storeProblem(path: string, error: unknown): unknown {
  if (error instanceof ChainStoreError || error instanceof AssertionFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/locked|busy/.test(message)) {
    const text = `Cannot open the chain at ${path} as another process is using it: stop that one, or use another path`;
    return new ChainStoreError("locked", text, { cause: error });
  }
  if (/is full|no space/i.test(message)) {
    const text =
      `Cannot use the chain at ${path} as the disk is full: free some space, or keep it on another disk with --data DIR`;
    return new ChainStoreError("unwritable", text, { cause: error });
  }
  if (/malformed|not a database|JSON|Unexpected/.test(message)) return damaged(path, "the file is damaged", error);
  const text = `Cannot use the chain at ${path} as its file cannot be written (${message}): ` +
    "check the folder's permissions and the disk, or keep it elsewhere with --data DIR";
  return new ChainStoreError("unwritable", text, { cause: error });
}
