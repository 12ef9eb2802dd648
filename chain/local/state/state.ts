/**
 * The chain's state in memory: tables of records, with the changes of the open block and of the running call on top.
 *
 * A call that fails leaves nothing behind (`attempt`), a block that is not committed neither. The root is the sum of the hashes of all
 * records modulo 2^256: it costs the same for a change in a large state as in a small one, does not depend on the order of changes,
 * and can be counted again from the store to see whether that is still whole.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { assert, present } from "../../../core/assert.ts";
import { textOfRecord } from "./record_text.ts";
import type { TableName, Tables } from "./records.ts";

/** One record as it goes to the store; `text` null: it is gone. */
export interface RecordChange {
  readonly table: TableName;
  readonly key: string;
  readonly text: string | null;
}

interface StoredRecord {
  readonly value: unknown;
  readonly hash: bigint;
}

interface Change {
  readonly table: TableName;
  readonly key: string;
  readonly value: unknown; // undefined: removed
}

const rootModulus = 1n << 256n;

export class State {
  readonly #tables = new Map<TableName, Map<string, StoredRecord>>();
  readonly #block = new Map<string, Change>();
  #call: Map<string, Change> | null = null;
  #root = 0n;

  /** The root of the last committed block. */
  get root(): Uint8Array {
    return bytesOfRoot(this.#root);
  }

  read<T extends TableName>(table: T, key: string): Tables[T] | undefined {
    const id = idOf(table, key);
    const change = this.#call?.get(id) ?? this.#block.get(id);
    return (change === undefined ? this.#tables.get(table)?.get(key)?.value : change.value) as Tables[T] | undefined;
  }

  /** A record that must be there: our own bookkeeping says so. */
  get<T extends TableName>(table: T, key: string): Tables[T] {
    return present(this.read(table, key), `The chain has no record '${key}' in table '${table}'`);
  }

  write<T extends TableName>(table: T, key: string, value: Tables[T]): void {
    (this.#call ?? this.#block).set(idOf(table, key), { table, key, value });
  }

  /** Replaces some fields of a record. */
  change<T extends TableName>(table: T, key: string, fields: Partial<Tables[T]>): void {
    this.write(table, key, { ...this.get(table, key) as object, ...fields } as Tables[T]);
  }

  remove(table: TableName, key: string): void {
    (this.#call ?? this.#block).set(idOf(table, key), { table, key, value: undefined });
  }

  /** Keys of a table that begin so, in no particular order. */
  keys(table: TableName, prefix = ""): string[] {
    const found = new Set([...this.#tables.get(table)?.keys() ?? []].filter((key) => key.startsWith(prefix)));
    for (const changes of [this.#block, this.#call ?? new Map<string, Change>()]) {
      for (const change of changes.values()) {
        if (change.table !== table || !change.key.startsWith(prefix)) continue;
        if (change.value === undefined) found.delete(change.key);
        else found.add(change.key);
      }
    }
    return [...found];
  }

  /** Runs `action`; what it wrote stays only when it gives null, no error. */
  attempt<E>(action: () => E | null): E | null {
    assert(this.#call === null, "Cannot begin a call as another one is running");
    this.#call = new Map();
    try {
      const error = action();
      if (error === null) { for (const [id, change] of this.#call) this.#block.set(id, change); }
      return error;
    } finally {
      this.#call = null;
    }
  }

  /** What the open block changed, and the root it will have. Nothing is committed yet. */
  prepare(): { readonly changes: readonly RecordChange[]; readonly root: Uint8Array } {
    const changes = [...this.#block.values()].map(({ table, key, value }) => ({
      table,
      key,
      text: value === undefined ? null : textOfRecord(value),
    }));
    return { changes, root: bytesOfRoot(this.#rootAfter(changes)) };
  }

  /** Makes the open block the state; `changes` are those `prepare` gave. */
  commit(changes: readonly RecordChange[]): void {
    this.#root = this.#rootAfter(changes);
    for (const { table, key, text } of changes) {
      const value = present(this.#block.get(idOf(table, key)), "Only what was prepared can be committed").value;
      this.#place({ table, key, text, value });
    }
    this.#block.clear();
  }

  discard(): void {
    this.#block.clear();
  }

  /** Puts a record of the store in place, while opening. */
  load(table: TableName, key: string, stored: { readonly text: string; readonly value: unknown }): void {
    this.#root = this.#rootAfter([{ table, key, text: stored.text }]);
    this.#place({ table, key, ...stored });
  }

  #place(record: { table: TableName; key: string; text: string | null; value: unknown }): void {
    const { table, key, text, value } = record;
    const records = this.#tables.get(table) ?? new Map<string, StoredRecord>();
    this.#tables.set(table, records);
    if (text === null) records.delete(key);
    else records.set(key, { value, hash: hashOf({ table, key, text }) });
  }

  #rootAfter(changes: readonly RecordChange[]): bigint {
    let root = this.#root;
    for (const change of changes) {
      const before = this.#tables.get(change.table)?.get(change.key)?.hash ?? 0n;
      const after = change.text === null ? 0n : hashOf({ ...change, text: change.text });
      root += after - before;
    }
    return ((root % rootModulus) + rootModulus) % rootModulus;
  }
}

const idOf = (table: TableName, key: string): string => `${table}:${key}`;

function hashOf(record: { readonly table: TableName; readonly key: string; readonly text: string }): bigint {
  const bytes = new TextEncoder().encode(`${record.table}:${record.key}:${record.text}`);
  return BigInt(`0x${blake2b(bytes, { dkLen: 32 }).toHex()}`);
}

const bytesOfRoot = (root: bigint): Uint8Array => Uint8Array.fromHex(root.toString(16).padStart(64, "0"));
