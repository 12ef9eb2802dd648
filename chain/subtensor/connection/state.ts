/** The chain's state at one block. */

import { hexToU8a, stringToU8a, u8aConcat, u8aToHex } from "@polkadot/util";
import { xxhashAsU8a } from "@polkadot/util-crypto";
import * as v from "valibot";
import { ChainError } from "../../chain.ts";
import { type BlockRef, hexSchema } from "./plain_values.ts";
import type { Connection } from "./connection.ts";
import { isStateGone } from "./rpc_error.ts";
import { type ChainEvent, type Runtime, UnsupportedRuntime } from "./runtime.ts";
import type { Session } from "./session.ts";

export interface StoredItem<T> {
  readonly pallet: string;
  readonly name: string;
  readonly keys: readonly unknown[];
  readonly schema: v.GenericSchema<unknown, T>;
  /** For entries missing in metadata: a u64 under Identity(u16). */
  readonly isRawWithoutMetadata: boolean;
}

type Batch = Readonly<Record<string, StoredItem<unknown>>>;

/** `undefined`: this runtime has no such entry. */
type BatchValues<B extends Batch> = {
  readonly [K in keyof B]: (B[K] extends StoredItem<infer T> ? T : never) | undefined;
};

const changesSchema = v.array(v.object({ changes: v.array(v.tuple([hexSchema, v.nullable(hexSchema)])) }));

export function subtensorItem<T>(
  name: string,
  keys: readonly unknown[],
  schema: v.GenericSchema<unknown, T>,
): StoredItem<T> {
  return { pallet: "SubtensorModule", name, keys, schema, isRawWithoutMetadata: false };
}

export function systemItem<T>(
  name: string,
  keys: readonly unknown[],
  schema: v.GenericSchema<unknown, T>,
): StoredItem<T> {
  return { pallet: "System", name, keys, schema, isRawWithoutMetadata: false };
}

export function recentItem<T>(name: string, netuid: number, schema: v.GenericSchema<unknown, T>): StoredItem<T> {
  return { pallet: "SubtensorModule", name, keys: [netuid], schema, isRawWithoutMetadata: true };
}

export class StateAt {
  readonly block: BlockRef;
  readonly runtime: Runtime;
  readonly #session: Session;

  constructor(session: Session, block: BlockRef) {
    this.#session = session;
    this.block = block;
    this.runtime = session.runtime;
  }

  async read<B extends Batch>(batch: B): Promise<BatchValues<B>> {
    const items = Object.entries(batch).map(([field, item]) => ({ field, item, ...addressOf(this.runtime, item) }));
    const keys = items.flatMap(({ key }) => key === null ? [] : [key]);
    const answer = await this.#session.socket.call("state_queryStorageAt", [keys, this.block.hash]);
    const stored = new Map(v.parse(changesSchema, answer).flatMap(({ changes }) => changes));
    const values: Record<string, unknown> = {};
    for (const { field, item, key, decode } of items) {
      const value = key === null ? undefined : decode(stored.get(key) ?? null);
      values[field] = value === undefined ? undefined : v.parse(item.schema, value);
    }
    return values as BatchValues<B>;
  }

  async events(): Promise<ChainEvent[]> {
    const item = this.runtime.storageItem("System", "Events");
    if (item === null) throw new UnsupportedRuntime("storage System.Events", this.runtime.version);
    const answer = await this.#session.socket.call("state_getStorage", [item.key([]), this.block.hash]);
    return answer === null ? [] : this.runtime.decodeEvents(v.parse(hexSchema, answer));
  }

  hasApi(api: string, method: string): boolean {
    return this.runtime.runtimeApi(api, method) !== null;
  }

  async call(api: string, method: string, args: readonly unknown[]): Promise<unknown> {
    const found = this.runtime.runtimeApi(api, method);
    if (found === null) throw new UnsupportedRuntime(`runtime API ${api}.${method}`, this.runtime.version);
    const params = [`${api}_${method}`, found.encode(args), this.block.hash];
    return found.decode(v.parse(hexSchema, await this.#session.socket.call("state_call", params)));
  }
}

/** Falls back to a newer block if the node has pruned this one. */
export async function readAtHead<T>(session: Session, work: (state: StateAt) => Promise<T>): Promise<T> {
  try {
    return await work(new StateAt(session, session.head));
  } catch (error) {
    if (!isStateGone(error)) throw error;
    return await work(new StateAt(session, await session.freshHead()));
  }
}

/** Falls back to an archive node. */
export async function readAtBlock<T>(
  options: { connection: Connection; archive: () => Promise<Connection | null>; block: BlockRef },
  work: (state: StateAt) => Promise<T>,
): Promise<T> {
  const { connection, archive, block } = options;
  return await connection.run(async (session) => {
    try {
      return await work(new StateAt(session, block));
    } catch (error) {
      const other = isStateGone(error) ? await archive() : null;
      if (other === null) throw error;
      return await other.run((archived) => work(new StateAt(archived, block)));
    }
  });
}

export function needed<T>(value: T | undefined, what: string): T {
  if (value !== undefined) return value;
  throw new ChainError("badAnswer", `Cannot read the subnet as the chain's runtime has no ${what}`);
}

interface Address {
  readonly key: string | null;
  readonly decode: (hex: string | null) => unknown;
}

function addressOf(runtime: Runtime, item: StoredItem<unknown>): Address {
  const known = runtime.storageItem(item.pallet, item.name);
  if (known !== null) return { key: known.key(item.keys), decode: known.decode };
  if (!item.isRawWithoutMetadata) return { key: null, decode: () => undefined };
  return {
    key: u8aToHex(u8aConcat(twox128(item.pallet), twox128(item.name), littleEndian16(Number(item.keys[0])))),
    decode: (hex) => hex === null ? undefined : Number(new DataView(hexToU8a(hex).buffer).getBigUint64(0, true)),
  };
}

const twox128 = (name: string): Uint8Array => xxhashAsU8a(stringToU8a(name), 128);

const littleEndian16 = (value: number): Uint8Array => new Uint8Array([value & 255, value >> 8]);
