/**
 * The chain's state: tables of records, overlaid with the changes of the open block and the running call. Failed calls
 * (`attempt`) and uncommitted blocks change nothing.
 *
 * The root is the sum of all records' hashes modulo 2^256: cheap to update, independent of order, and recomputed from
 * the store to check it.
 */

import { createHash } from "node:crypto";
import { assert, present } from "../../../core/assert.ts";
import { type TableName, type Tables, textOfRecord } from "./records.ts";
import type { ChainEvent } from "../block/events.ts";
import type { Genesis } from "../block/genesis.ts";

/** `text` null: removed. */
export interface RecordChange {
  readonly table: TableName;
  readonly key: string;
  readonly text: string | null;
  readonly value: unknown;
  readonly hash: bigint;
}

export interface StateReader {
  read<T extends TableName>(table: T, key: string): Tables[T] | undefined;
  get<T extends TableName>(table: T, key: string): Tables[T];
  keys(table: TableName, prefix?: string): string[];
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
const keptStates = 64; // a client reads several values of one block

export class State implements StateReader {
  readonly #tables = new Map<TableName, Map<string, StoredRecord>>();
  readonly #block = new Map<string, Change>();
  #call: Map<string, Change> | null = null;
  readonly #undo: ReadonlyMap<string, Change>[] = []; // values before each recent block, oldest first
  #root = 0n;

  get root(): Uint8Array {
    return bytesOfRoot(this.#root);
  }

  read<T extends TableName>(table: T, key: string): Tables[T] | undefined {
    const id = idOf(table, key);
    const change = this.#call?.get(id) ?? this.#block.get(id);
    return (change === undefined ? this.#stored(table, key) : change.value) as Tables[T] | undefined;
  }

  get<T extends TableName>(table: T, key: string): Tables[T] {
    return present(this.read(table, key), missing(table, key));
  }

  write<T extends TableName>(table: T, key: string, value: Tables[T]): void {
    (this.#call ?? this.#block).set(idOf(table, key), { table, key, value });
  }

  change<T extends TableName>(table: T, key: string, fields: Partial<Tables[T]>): void {
    this.write(table, key, { ...this.get(table, key) as object, ...fields } as Tables[T]);
  }

  remove(table: TableName, key: string): void {
    (this.#call ?? this.#block).set(idOf(table, key), { table, key, value: undefined });
  }

  keys(table: TableName, prefix = ""): string[] {
    const stored = [...this.#tables.get(table)?.keys() ?? []].filter((key) => key.startsWith(prefix));
    return withChanges(stored, [...this.#block.values(), ...this.#call?.values() ?? []], { table, prefix });
  }

  /** Keeps the writes only if `action` returns null. */
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

  /** Commits nothing. */
  prepare(): { readonly changes: readonly RecordChange[]; readonly root: Uint8Array } {
    const changes = [...this.#block.values()].map(({ table, key, value }) =>
      changeOf({ table, key, value, text: value === undefined ? null : textOfRecord(value) })
    );
    return { changes, root: bytesOfRoot(this.#rootAfter(changes)) };
  }

  commit(changes: readonly RecordChange[]): void {
    this.#root = this.#rootAfter(changes);
    this.#undo.push(
      new Map([...this.#block].map(([id, { table, key }]) => [id, { table, key, value: this.#stored(table, key) }])),
    );
    if (this.#undo.length > keptStates) this.#undo.shift();
    for (const change of changes) this.#place(change);
    this.#block.clear();
  }

  /** 0: now. Null: no longer kept. */
  past(blocksAgo: number): StateReader | null {
    if (blocksAgo < 0 || blocksAgo > this.#undo.length) return null;
    return new PastState(this, this.#undo.slice(this.#undo.length - blocksAgo));
  }

  discard(): void {
    this.#block.clear();
  }

  load(table: TableName, key: string, stored: { readonly text: string; readonly value: unknown }): void {
    const change = changeOf({ table, key, ...stored });
    this.#root = this.#rootAfter([change]);
    this.#place(change);
  }

  #stored(table: TableName, key: string): unknown {
    return this.#tables.get(table)?.get(key)?.value;
  }

  #place({ table, key, text, value, hash }: RecordChange): void {
    const records = this.#tables.get(table) ?? new Map<string, StoredRecord>();
    this.#tables.set(table, records);
    if (text === null) records.delete(key);
    else records.set(key, { value, hash });
  }

  #rootAfter(changes: readonly RecordChange[]): bigint {
    let root = this.#root;
    for (const { table, key, hash } of changes) root += hash - (this.#tables.get(table)?.get(key)?.hash ?? 0n);
    return ((root % rootModulus) + rootModulus) % rootModulus;
  }
}

/** Valid until the next commit. */
class PastState implements StateReader {
  readonly #before = new Map<string, Change>();

  constructor(readonly present: State, undo: readonly ReadonlyMap<string, Change>[]) {
    for (const changes of undo.toReversed()) for (const [id, change] of changes) this.#before.set(id, change);
  }

  read<T extends TableName>(table: T, key: string): Tables[T] | undefined {
    const change = this.#before.get(idOf(table, key));
    return change === undefined ? this.present.read(table, key) : change.value as Tables[T] | undefined;
  }

  get<T extends TableName>(table: T, key: string): Tables[T] {
    return present(this.read(table, key), missing(table, key));
  }

  keys(table: TableName, prefix = ""): string[] {
    return withChanges(this.present.keys(table, prefix), [...this.#before.values()], { table, prefix });
  }
}

function withChanges(
  keys: readonly string[],
  changes: readonly Change[],
  of: { readonly table: TableName; readonly prefix: string },
): string[] {
  const found = new Set(keys);
  for (const change of changes) {
    if (change.table !== of.table || !change.key.startsWith(of.prefix)) continue;
    if (change.value === undefined) found.delete(change.key);
    else found.add(change.key);
  }
  return [...found];
}

const missing = (table: TableName, key: string): string => `The chain has no record '${key}' in table '${table}'`;

const idOf = (table: TableName, key: string): string => `${table}:${key}`;

function changeOf(record: Omit<RecordChange, "hash">): RecordChange {
  const { table, key, text } = record;
  const digest = createHash("sha256").update(`${table}:${key}:${text}`).digest("hex"); // 3 us for a full row
  return { ...record, hash: text === null ? 0n : BigInt(`0x${digest}`) };
}

const bytesOfRoot = (root: bigint): Uint8Array => Uint8Array.fromHex(root.toString(16).padStart(64, "0"));

/** All inputs of code that runs inside a block. */
export interface BlockScope {
  readonly state: State;
  readonly genesis: Genesis;
  readonly block: number; // the block being made, or the next one
  readonly lastRound: bigint;
  /** Its own pulse, then quicknet's if known. Empty: not published yet. */
  pulses(round: bigint): readonly Uint8Array[];
  /** Whether quicknet's pulse may still arrive, for commits that the chain's own does not open. */
  awaitsPulse(round: bigint): boolean;
  emit(event: ChainEvent): void;
}
