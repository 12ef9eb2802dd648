/** `chain_*`: blocks and headers. Best and final block are the same. */

import type { LocalHeader } from "../../block/ledger.ts";
import type { LoggedBlock } from "../block_log.ts";
import { hexOf, hexOfNumber } from "../hex.ts";
import type { Caller, Method, Methods, NodeParts } from "./method.ts";
import { bytesParam, countParam, hashParam, listParam, optional, textParam } from "./params.ts";
import { decodeAddress } from "../../../wallet/ss58.ts";
import { invalidParams } from "../rpc_error.ts";

const blockHash: Method = ([wanted], { ledger, limits }) => {
  const hashOf = (block: unknown) => {
    const hash = ledger.blockHash(countParam(block, "block"));
    return hash === null ? null : hexOf(hash);
  };
  if (wanted === undefined || wanted === null) return hexOf(ledger.head().hash);
  if (!Array.isArray(wanted)) return hashOf(wanted);
  return listParam(wanted, { name: "blocks", limit: limits.storageKeys }).map(hashOf);
};

const header: Method = ([hash], { ledger }) => {
  const found = ledger.header(optional(hash, (value) => hashParam(value, "hash")) ?? ledger.head().hash);
  return found === null ? null : headerJson(found);
};

const block: Method = ([hash], { blocks }) => {
  const wanted = optional(hash, (value) => hashParam(value, "hash"));
  const found = wanted === null ? blocks.head() : blocks.get(wanted);
  if (found === null) return null; // no longer kept
  return { block: { header: headerJson(found.header), extrinsics: found.extrinsics.map(hexOf) }, justifications: null };
};

const finalizedHead: Method = (_, { ledger }) => hexOf(ledger.head().hash);

function headsAs(notification: string): Method {
  return (_, node, caller) => subscribeHeads(node, { caller, notification });
}

function subscribeHeads({ blocks, heads }: NodeParts, to: { caller: Caller; notification: string }): string {
  return to.caller.subscribe({
    notification: to.notification,
    start(push) {
      const show = (head: LoggedBlock) => push(headerJson(head.header));
      show(blocks.head());
      return heads.listen(show);
    },
  });
}

const unsubscribe: Method = ([id], _, caller) => caller.unsubscribe(id);

function headerJson({ parentHash, number, stateRoot, extrinsicsRoot }: LocalHeader): unknown {
  return {
    parentHash: hexOf(parentHash),
    number: hexOfNumber(number),
    stateRoot: hexOf(stateRoot),
    extrinsicsRoot: hexOf(extrinsicsRoot),
    digest: { logs: [] },
  };
}

export const chainMethods: Methods = {
  chain_getBlockHash: blockHash,
  chain_getHeader: header,
  chain_getBlock: block,
  chain_getFinalizedHead: finalizedHead,
  chain_getFinalisedHead: finalizedHead,
  chain_getHead: finalizedHead,
  chain_subscribeNewHeads: headsAs("chain_newHead"),
  chain_subscribeNewHead: headsAs("chain_newHead"),
  chain_subscribeAllHeads: headsAs("chain_allHead"),
  chain_subscribeFinalizedHeads: headsAs("chain_finalizedHead"),
  chain_subscribeFinalisedHeads: headsAs("chain_finalizedHead"),
  chain_unsubscribeNewHeads: unsubscribe,
  chain_unsubscribeNewHead: unsubscribe,
  chain_unsubscribeAllHeads: unsubscribe,
  chain_unsubscribeFinalizedHeads: unsubscribe,
  chain_unsubscribeFinalisedHeads: unsubscribe,
};

const nextIndex: Method = ([account], { ledger }) => {
  const key = decodeAddress(textParam(account, "account"));
  if (key === null) throw invalidParams("account must be an ss58 address with prefix 42");
  return ledger.nonceOf(key);
};

const syncState: Method = (_, { ledger }) => {
  const block = ledger.head().number;
  return { startingBlock: 0, currentBlock: block, highestBlock: block };
};

export const systemMethods: Methods = {
  system_chain: (_, { chainName }) => chainName,
  system_chainType: () => "Local",
  system_name: () => "iota local chain",
  system_version: (_, { runtime }) => String(runtime.surface.specVersion),
  system_properties: () => ({ isEthereum: false, ss58Format: 42, tokenDecimals: 9, tokenSymbol: "TAO" }),
  system_health: () => ({ peers: 0, isSyncing: false, shouldHavePeers: false }),
  system_peers: () => [],
  system_syncState: syncState,
  system_nodeRoles: () => ["Authority"],
  system_localPeerId: (_, { ledger }) => hexOf(ledger.genesisHash),
  system_accountNextIndex: nextIndex,
  account_nextIndex: nextIndex,
  chainSpec_v1_chainName: (_, { chainName }) => chainName,
  chainSpec_v1_genesisHash: (_, { ledger }) => hexOf(ledger.genesisHash),
};

const submit: Method = ([extrinsic], { pool }) => pool.submit(bytesParam(extrinsic, "extrinsic"));

const submitAndWatch: Method = ([extrinsic], { pool }, caller) => {
  const bytes = bytesParam(extrinsic, "extrinsic");
  // Without a subscription, the extrinsic must not be submitted.
  let watched: ((push: (status: unknown) => void) => () => void) | null = null;
  const id = caller.subscribe({
    notification: "author_extrinsicUpdate",
    start: (push) => watched?.(push) ?? (() => {}),
  });
  try {
    const hash = pool.submit(bytes);
    watched = (push) => pool.watch(hash, push);
    return id;
  } catch (error) {
    caller.unsubscribe(id);
    throw error;
  }
};

const unwatch: Method = ([id], _, caller) => caller.unsubscribe(id);

const pending: Method = (_, { pool }) => pool.waiting().map(({ bytes }) => hexOf(bytes));

const paymentInfo: Method = ([extrinsic], _) => {
  bytesParam(extrinsic, "extrinsic");
  return { weight: { ref_time: 0, proof_size: 0 }, class: "normal", partialFee: "0" };
};

export const authorMethods: Methods = {
  author_submitExtrinsic: submit,
  author_submitAndWatchExtrinsic: submitAndWatch,
  author_unwatchExtrinsic: unwatch,
  author_pendingExtrinsics: pending,
  payment_queryInfo: paymentInfo,
};
