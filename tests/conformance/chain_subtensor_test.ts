/** The client keeps the promises of every `Chain`, over JSON-RPC to the embedded chain's node. */

import type { Chain } from "../../chain/chain.ts";
import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { localNode } from "../../chain/local/rpc/server/local_node.ts";
import { serveRpc } from "../../chain/local/rpc/server/rpc_server.ts";
import { runtimeOf } from "../../chain/local/surface/runtime.ts";
import { runtimeSurface } from "../../chain/local/surface/surface.ts";
import { SubtensorChain } from "../../chain/subtensor/subtensor_chain.ts";
import { systemTimers } from "../../net/timers.ts";
import { chainSuite } from "./chain_suite.ts";

chainSuite("subtensor", async (ledger: LocalLedger, netuid: number): Promise<Chain> => {
  const { epochs, blockMs, specVersion } = ledger.genesis;
  const node = localNode({ ledger, runtime: runtimeOf(runtimeSurface({ epochs, blockMs, specVersion })) });
  const server = await serveRpc({ node, host: "127.0.0.1", port: 0 });
  const endpoints = { urls: [server.url], archiveUrls: [], isPublic: false };
  const chain = await SubtensorChain.connect({ endpoints, netuid, timers: systemTimers, dice: () => 0.5 });
  const close = chain.close.bind(chain);
  chain.close = async () => {
    await close();
    node.close();
    await server.close();
  };
  return chain;
});
