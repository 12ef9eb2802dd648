/**
 * The embedded chain's node: combines ledger, surface and methods. A new block is recorded (pool, log), then
 * announced (watchers, heads). Everything is synchronous, so no answer is incomplete between two messages.
 */

import type { Ledger } from "../../block/ledger.ts";
import type { Runtime } from "../../surface/runtime.ts";
import { BlockLog, Heads } from "../block_log.ts";
import { authorMethods, chainMethods, systemMethods } from "../methods/chain_methods.ts";
import { Connection } from "./connection.ts";
import { defaultRpcLimits, type RpcLimits } from "../limits.ts";
import type { Methods, NodeParts } from "../methods/method.ts";
import { Pool } from "../pool.ts";
import { stateMethods } from "../methods/state_methods.ts";
import { stateReader } from "../methods/state_reader.ts";

export interface NodeOptions {
  readonly ledger: Ledger;
  readonly runtime: Runtime;
  readonly limits?: Partial<RpcLimits>;
  readonly chainName?: string;
}

export interface LocalNode {
  readonly limits: RpcLimits;
  connect(push: ((text: string) => void) | null): Connection;
  close(): void;
}

export function localNode(options: NodeOptions): LocalNode {
  const { ledger, runtime } = options;
  const limits = { ...defaultRpcLimits, ...options.limits };
  const { keptBlocks, poolExtrinsics } = limits;
  const blocks = new BlockLog({ runtime, ledger, keptBlocks });
  const scope = () => ({
    runtime,
    genesisHash: ledger.genesisHash,
    headBlock: ledger.head().number,
    blockHash: (block: number) => ledger.blockHash(block),
  });
  const pool = new Pool({ ledger, scope, poolExtrinsics, keptBlocks });
  const heads = new Heads();
  const state = stateReader({ runtime, ledger, blocks });
  const node: NodeParts = {
    ...{ runtime, ledger, blocks, pool, state, heads, limits },
    chainName: options.chainName ?? "Bittensor (local)",
  };
  blocks.add(ledger.head(), new Map());
  const stop = ledger.onBlock((block) => {
    const included = pool.take(block);
    const logged = blocks.add(block, included);
    pool.announce(included, block.hash);
    heads.announce(logged);
  });
  return { limits, connect: (push) => new Connection({ node, methods, push }), close: stop };
}

const implemented: Methods = { ...chainMethods, ...stateMethods, ...authorMethods, ...systemMethods };

const methods: Methods = {
  ...implemented,
  rpc_methods: () => ({ methods: [...Object.keys(implemented), "rpc_methods"].sort() }),
};
