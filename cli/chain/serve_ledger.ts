/**
 * A running embedded chain: makes a block every `blockMs` and serves clients at a port. Blocks missed while the machine
 * slept are not made up.
 */

import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { localNode } from "../../chain/local/rpc/server/local_node.ts";
import { serveRpc } from "../../chain/local/rpc/server/rpc_server.ts";
import { runtimeOf } from "../../chain/local/surface/runtime.ts";
import { runtimeSurface } from "../../chain/local/surface/surface.ts";
import { attempting } from "../program/errors.ts";

interface ServeLedgerOptions {
  readonly ledger: LocalLedger;
  readonly host: string;
  readonly port: number; // 0: any
  readonly metadata?: Uint8Array | undefined; // instead of our own
}

export interface LiveLedger {
  readonly url: string;
  /** Rejects when no more blocks can be made, for example on a full disk; never resolves. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

export async function serveLedger({ ledger, host, port, metadata }: ServeLedgerOptions): Promise<LiveLedger> {
  const node = localNode({ ledger, runtime: runtimeOf(runtimeSurface(ledger.genesis), metadata) });
  const server = await attempting(
    { action: "serve the chain on", value: `${host}:${port}` },
    () => serveRpc({ node, host, port }),
  );
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const timer = setInterval(() => {
    try {
      ledger.produceBlock(Date.now());
    } catch (error) {
      clearInterval(timer);
      reject(error);
    }
  }, ledger.genesis.blockMs);
  const close = async () => {
    clearInterval(timer);
    await server.close();
    node.close();
  };
  return { url: server.url, failed, close };
}
