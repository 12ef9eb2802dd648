/** `system_*`: facts about the node, and an account's next nonce. */

import { decodeAddress } from "../../../wallet/ss58.ts";
import { hexOf } from "../hex.ts";
import type { Method, Methods } from "./method.ts";
import { textParam } from "./params.ts";
import { invalidParams } from "../rpc_error.ts";

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
