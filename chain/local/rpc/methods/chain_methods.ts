/** `chain_*`: blocks and headers. Best and final block are the same. */

import type { LocalHeader } from "../../block/ledger.ts";
import type { LoggedBlock } from "../block_log.ts";
import { hexOf, hexOfNumber } from "../hex.ts";
import type { Caller, Method, Methods, NodeParts } from "./method.ts";
import { countParam, hashParam, listParam, optional } from "./params.ts";

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
  if (found === null) return null; // its body is no longer kept
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
