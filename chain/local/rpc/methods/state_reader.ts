/** Storage and runtime functions at a block, as bytes. Pruned blocks are refused with a pruning node's message. */

import type { AccountId, Ledger, LedgerState } from "../../block/ledger.ts";
import type { Runtime } from "../../surface/runtime.ts";
import { ScaleError, ScaleReader } from "../../surface/scale_bytes.ts";
import type { StorageEntry } from "../../surface/storage_keys.ts";
import type { BlockLog, LoggedBlock } from "../block_log.ts";
import { hexOf } from "../hex.ts";
import { shieldKey } from "../shield.ts";
import { clientError, discardedState, invalidParams, unknownBlock, unknownFunction } from "../rpc_error.ts";

export interface StateReader {
  blockAt(hash: Uint8Array | null): LoggedBlock;
  storage(key: Uint8Array, block: LoggedBlock): Uint8Array | null;
  keys(prefix: Uint8Array, block: LoggedBlock): Uint8Array[];
  call(name: string, options: { args: Uint8Array; block: LoggedBlock }): Uint8Array;
}

interface Sources {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  readonly blocks: BlockLog;
}

export function stateReader(sources: Sources): StateReader {
  const reader: StateReader = {
    blockAt: (hash) => blockAt(sources, hash),
    storage(key, block) {
      const found = sources.runtime.storageKeys.read(key);
      if (found === null) return null; // not a key of this runtime
      const value = storedValue(sources, { name: found.entry.name, keys: found.keys, block });
      return value === undefined
        ? null
        : value instanceof Encoded
        ? value.bytes
        : sources.runtime.scale.encode(found.entry.item.value, value);
    },
    keys: (prefix, block) => keysUnder(sources, { prefix, block, reader }),
    call: (name, options) => callRuntime(sources, { name, ...options }),
  };
  return reader;
}

function blockAt({ ledger, blocks }: Sources, hash: Uint8Array | null): LoggedBlock {
  if (hash === null) return blocks.head();
  const logged = blocks.get(hash);
  if (logged !== null) return logged;
  throw ledger.header(hash) === null ? unknownBlock(hexOf(hash)) : discardedState(hexOf(hash));
}

class Encoded {
  constructor(readonly bytes: Uint8Array) {}
}

interface Wanted {
  readonly name: string;
  readonly keys: readonly unknown[];
  readonly block: LoggedBlock;
}

function storedValue(sources: Sources, { name, keys, block }: Wanted): unknown {
  const own = ownValues[name];
  if (own !== undefined) return own({ ...sources, keys, block });
  return ledgerState(sources, block).storage(name, keys);
}

function ledgerState({ ledger }: Sources, block: LoggedBlock): LedgerState {
  if (block.number === ledger.head().number) return ledger;
  const past = ledger.at?.(block.number) ?? null;
  if (past === null) throw discardedState(hexOf(block.hash));
  return past;
}

const ownValues: Readonly<Record<string, (from: Sources & Omit<Wanted, "name">) => unknown>> = {
  "System.Number": ({ block }) => block.number,
  "System.ParentHash": ({ block }) => block.header.parentHash,
  "System.BlockHash": ({ ledger, keys, block }) =>
    (keys[0] as number) < block.number ? ledger.blockHash(keys[0] as number) ?? undefined : undefined,
  "System.Events": ({ block }) => new Encoded(block.events),
  "System.EventCount": ({ block }) => block.eventCount,
  "System.ExtrinsicCount": () => undefined, // set only while a block is made
  "System.Digest": () => ({ logs: [] }),
  "System.LastRuntimeUpgrade": ({ runtime }) => runtime.version,
  "Timestamp.Now": ({ block }) => BigInt(Math.floor(block.timestampMs)),
  "MevShield.CurrentKey": () => shieldKey, // never rotates
  "MevShield.PendingKey": () => shieldKey,
  "MevShield.NextKey": () => shieldKey,
  "MevShield.PendingKeyExpiresAt": ({ block }) => block.number + 2,
  "MevShield.NextKeyExpiresAt": ({ block }) => block.number + 3,
};

function keysUnder(
  sources: Sources,
  { prefix, block, reader }: { prefix: Uint8Array; block: LoggedBlock; reader: StateReader },
): Uint8Array[] {
  const { storageKeys } = sources.runtime;
  const entry = storageKeys.entryOf(prefix);
  if (entry === null) return [];
  const asked = prefix.toHex();
  return mapKeys(entry, ledgerState(sources, block))
    .map((keys) => storageKeys.build(entry, keys))
    .filter((key) => key.toHex().startsWith(asked) && reader.storage(key, block) !== null)
    .sort((a, b) => a.toHex() < b.toHex() ? -1 : 1);
}

/** Their first key is mechanism * 4096 + netuid. */
const mechanismMaps: ReadonlySet<string> = new Set(
  ["Weights", "Bonds", "LastUpdate", "Incentive", "WeightCommits", "TimelockedWeightCommits"]
    .map((item) => `SubtensorModule.${item}`),
);

/** The ledger lists subnets and seats, not keys. */
function mapKeys({ name, item }: StorageEntry, state: LedgerState): unknown[][] {
  const shape = item.keys.map(({ type }) => type).join(",");
  if (shape === "") return [[]];
  const places = subnetsOf(state).flatMap((netuid) => {
    const mechanisms = mechanismMaps.has(name) ? numberOf(state, "MechanismCountCurrent", netuid) : 1;
    return Array.from({ length: mechanisms }, (_, mechanism) => ({ netuid, index: mechanism * 4_096 + netuid }));
  });
  if (shape === "u16") return places.map(({ index }) => [index]);
  if (shape === "u16,u64") {
    return places.flatMap((place) => commitEpochs(state, place).map((epoch) => [place.index, epoch]));
  }
  const seats = places.flatMap(({ netuid, index }) => {
    const count = numberOf(state, "SubnetworkN", netuid);
    return Array.from({ length: count }, (_, uid) => ({ netuid, index, uid }));
  });
  if (shape === "u16,u16") return seats.map(({ index, uid }) => [index, uid]);
  const held = seats.flatMap(({ netuid, index, uid }) => {
    const hotkey = state.storage("SubtensorModule.Keys", [netuid, uid]) as AccountId | undefined;
    return hotkey === undefined ? [] : [{ index, hotkey }];
  });
  if (shape === "u16,AccountId") return held.map(({ index, hotkey }) => [index, hotkey]);
  if (shape === "AccountId,u16") return held.map(({ index, hotkey }) => [hotkey, index]);
  if (shape === "AccountId") return unique(held.map(({ hotkey }) => hotkey)).map((hotkey) => [hotkey]);
  return [];
}

/** From the one opening now to the one about to begin. */
function commitEpochs(state: LedgerState, place: { readonly netuid: number; readonly index: number }): bigint[] {
  const { netuid, index } = place;
  const stored = state.storage("SubtensorModule.SubnetEpochIndex", [netuid]) as bigint | undefined;
  const byArithmetic = Math.floor(
    (Number(state.storage("System.Number", [])) + netuid + 1) / (numberOf(state, "Tempo", netuid) + 1),
  );
  const newest = Number(stored ?? byArithmetic) + 1;
  const oldest = Math.max(0, newest - 1 - numberOf(state, "RevealPeriodEpochs", netuid));
  return Array.from({ length: newest - oldest + 1 }, (_, i) => BigInt(oldest + i)).filter((epoch) => {
    const commits = state.storage("SubtensorModule.TimelockedWeightCommits", [index, epoch]);
    return Array.isArray(commits) && commits.length > 0;
  });
}

const numberOf = (state: LedgerState, item: string, netuid: number): number =>
  Number(state.storage(`SubtensorModule.${item}`, [netuid]) ?? 0);

function subnetsOf(state: LedgerState): number[] {
  const total = state.storage("SubtensorModule.TotalNetworks", []) as number | undefined ?? 0;
  const netuids: number[] = [];
  const highest = 0x0fff; // higher values index further mechanisms
  for (let netuid = 0; netuid <= highest && netuids.length < total; netuid++) {
    if (state.storage("SubtensorModule.NetworksAdded", [netuid]) === true) netuids.push(netuid);
  }
  return netuids;
}

function unique(accounts: readonly AccountId[]): AccountId[] {
  return [...new Map(accounts.map((account) => [account.toHex(), account])).values()];
}

interface Asked {
  readonly name: string; // such as "SubnetInfoRuntimeApi_get_metagraph"
  readonly args: Uint8Array;
  readonly block: LoggedBlock;
}

function callRuntime(sources: Sources, { name, args, block }: Asked): Uint8Array {
  const { runtime } = sources;
  const method = runtime.apiMethods.get(name);
  if (method === undefined) throw unknownFunction(name);
  const values = readArguments(runtime, { types: method.args.map(([, type]) => type), bytes: args });
  const own = ownFunctions[name];
  const value = own !== undefined
    ? own({ ...sources, args: values })
    : ledgerState(sources, block).runtimeApi(name.replace("_", "."), values);
  if (value === undefined && !method.answer.startsWith("Option<")) {
    throw clientError(`Execution failed: ${name} has no answer on this chain`);
  }
  return runtime.scale.encode(method.answer, value);
}

function readArguments({ scale }: Runtime, from: { types: readonly string[]; bytes: Uint8Array }): unknown[] {
  const reader = new ScaleReader(from.bytes);
  try {
    const values = from.types.map((type) => scale.read(type, reader));
    reader.end();
    return values;
  } catch (error) {
    if (error instanceof ScaleError) throw invalidParams(`the arguments must be SCALE bytes: ${error.message}`);
    throw error;
  }
}

const ownFunctions: Readonly<Record<string, (from: Sources & { args: readonly unknown[] }) => unknown>> = {
  Core_version: ({ runtime }) => runtime.version,
  Metadata_metadata: ({ runtime }) => runtime.metadata.get(14) ?? [...runtime.metadata.values()][0],
  Metadata_metadata_versions: ({ runtime }) => [...runtime.metadata.keys()],
  Metadata_metadata_at_version: ({ runtime, args }) => runtime.metadata.get(args[0] as number) ?? null,
  AccountNonceApi_account_nonce: ({ ledger, args }) => ledger.nonceOf(args[0] as AccountId),
  TransactionPaymentApi_query_info: () => ({ class: "Normal" }),
  TransactionPaymentApi_query_fee_details: () => ({ inclusionFee: null }),
};
