/** `state_*`: storage, runtime functions, metadata and the runtime's version. */

import type { Runtime } from "../../surface/runtime.ts";
import type { LoggedBlock } from "../block_log.ts";
import { type Hex, hexOf } from "../hex.ts";
import type { Method, Methods, NodeParts } from "./method.ts";
import { bytesParam, countParam, hashParam, listParam, optional, textParam } from "./params.ts";
import { invalidParams } from "../rpc_error.ts";

const blockOf = (value: unknown, { state }: NodeParts): LoggedBlock =>
  state.blockAt(optional(value, (hash) => hashParam(hash, "block hash")));

const storage: Method = ([key, at], node) => {
  const value = node.state.storage(bytesParam(key, "key"), blockOf(at, node));
  return value === null ? null : hexOf(value);
};

const storageSize: Method = ([key, at], node) =>
  node.state.storage(bytesParam(key, "key"), blockOf(at, node))?.length ?? null;

const queryStorageAt: Method = ([keys, at], node) => {
  const block = blockOf(at, node);
  return [changeSet(keysParam(keys, node), { node, block })];
};

const keysPaged: Method = ([prefix, count, after, at], node) => {
  const limit = countParam(count, "count");
  if (limit > node.limits.pageKeys) {
    throw invalidParams(`count must be at most ${node.limits.pageKeys}: current value is ${limit}`);
  }
  const wanted = optional(prefix, (value) => bytesParam(value, "prefix")) ?? new Uint8Array(0);
  const start = optional(after, (value) => bytesParam(value, "start key"));
  const keys = node.state.keys(wanted, blockOf(at, node)).map(hexOf);
  const first = start === null ? 0 : keys.findIndex((key) => key > hexOf(start));
  return first < 0 ? [] : keys.slice(first, first + limit);
};

const call: Method = ([name, args, at], node) => {
  const function_ = textParam(name, "function");
  const bytes = bytesParam(args ?? "0x", "arguments");
  return hexOf(node.state.call(function_, { args: bytes, block: blockOf(at, node) }));
};

const metadata: Method = ([at], node) => {
  blockOf(at, node);
  const versions = [...node.runtime.metadata.values()];
  return hexOf(node.runtime.metadata.get(14) ?? versions[0]!);
};

const version: Method = ([at], node) => {
  blockOf(at, node);
  return versionJson(node.runtime);
};

const subscribeStorage: Method = ([keys], node, caller) => {
  const wanted = keysParam(keys, node);
  return caller.subscribe({
    notification: "state_storage",
    start(push) {
      const last = new Map<Hex, Hex | null>();
      const show = (block: LoggedBlock) => {
        const { changes } = changeSet(wanted, { node, block });
        const news = changes.filter(([key, value]) => !last.has(key) || last.get(key) !== value);
        for (const [key, value] of news) last.set(key, value);
        if (news.length > 0) push({ block: hexOf(block.hash), changes: news });
      };
      show(node.blocks.head());
      return node.heads.listen(show);
    },
  });
};

const subscribeVersion: Method = (_, { runtime }, caller) =>
  caller.subscribe({
    notification: "state_runtimeVersion",
    start(push) {
      push(versionJson(runtime)); // once: the runtime never changes
      return () => {};
    },
  });

const unsubscribe: Method = ([id], _, caller) => caller.unsubscribe(id);

function keysParam(value: unknown, { limits }: NodeParts): Uint8Array[] {
  return listParam(value, { name: "keys", limit: limits.storageKeys }).map((key) => bytesParam(key, "key"));
}

interface ChangeSet {
  readonly block: Hex;
  readonly changes: readonly (readonly [key: Hex, value: Hex | null])[];
}

function changeSet(keys: readonly Uint8Array[], at: { node: NodeParts; block: LoggedBlock }): ChangeSet {
  const { node, block } = at;
  const changes = keys.map((key) => {
    const value = node.state.storage(key, block);
    return [hexOf(key), value === null ? null : hexOf(value)] as const;
  });
  return { block: hexOf(block.hash), changes };
}

function versionJson({ version }: Runtime): unknown {
  const { apis, systemVersion, ...rest } = version;
  return {
    ...rest,
    apis: apis.map(([id, number]) => [hexOf(id), number]),
    stateVersion: systemVersion, // the older name
    systemVersion,
  };
}

export const stateMethods: Methods = {
  state_getStorage: storage,
  state_getStorageAt: storage,
  state_getStorageSize: storageSize,
  state_queryStorageAt: queryStorageAt,
  state_getKeysPaged: keysPaged,
  state_getKeysPagedAt: keysPaged,
  state_call: call,
  state_getMetadata: metadata,
  state_getRuntimeVersion: version,
  chain_getRuntimeVersion: version,
  state_subscribeStorage: subscribeStorage,
  state_unsubscribeStorage: unsubscribe,
  state_subscribeRuntimeVersion: subscribeVersion,
  state_unsubscribeRuntimeVersion: unsubscribe,
  chain_subscribeRuntimeVersion: subscribeVersion,
  chain_unsubscribeRuntimeVersion: unsubscribe,
};
