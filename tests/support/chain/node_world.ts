/**
 * The embedded chain's node for tests: over a fake ledger without sockets, or over any ledger on a loopback port.
 */

import { Keyring } from "@polkadot/keyring";
import { cryptoWaitReady } from "@polkadot/util-crypto";
import type { Ledger } from "../../../chain/local/block/ledger.ts";
import type { RpcLimits } from "../../../chain/local/rpc/limits.ts";
import { type Connection, type LocalNode, localNode } from "../../../chain/local/rpc/server/local_node.ts";
import { type RpcServer, serveRpc } from "../../../chain/local/rpc/server/rpc_server.ts";
import { type Runtime, runtimeOf } from "../../../chain/local/surface/runtime.ts";
import { runtimeSurface } from "../../../chain/local/surface/surface.ts";
import { FakeLedger } from "./fake_ledger.ts";

await cryptoWaitReady();
const keyring = new Keyring({ type: "sr25519", ss58Format: 42 });
export const alice = keyring.addFromUri("//Alice");
export const bob = keyring.addFromUri("//Bob");

export const testRuntime: Runtime = runtimeOf(runtimeSurface({ epochs: "stateful", blockMs: 12_000 }));

export interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
}

export interface RpcNotification {
  readonly method: string;
  readonly params: { readonly subscription: string; readonly result: unknown };
}

/** A connection without a socket: messages sent to it are collected. */
export class NodeWorld {
  readonly ledger = new FakeLedger();
  readonly node: LocalNode;
  readonly connection: Connection;
  readonly pushed: RpcNotification[] = [];

  constructor(limits: Partial<RpcLimits> = {}) {
    this.node = localNode({ ledger: this.ledger, runtime: testRuntime, limits });
    this.connection = this.node.connect((text) => this.pushed.push(JSON.parse(text)));
  }

  /** Raw text in, the answer out; undefined when there is none. */
  send(text: string): RpcAnswer | RpcAnswer[] | undefined {
    let answer: RpcAnswer | undefined;
    this.connection.receive(text, (line) => answer = JSON.parse(line));
    return answer;
  }

  ask(method: string, ...params: unknown[]): RpcAnswer {
    return this.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })) as RpcAnswer;
  }

  result(method: string, ...params: unknown[]): unknown {
    return this.ask(method, ...params).result;
  }
}

/** Serves a ledger on a free loopback port while `use` runs. */
export async function withServer(
  ledger: Ledger,
  use: (server: RpcServer) => Promise<void>,
  limits: Partial<RpcLimits> = {},
): Promise<void> {
  const node = localNode({ ledger, runtime: testRuntime, limits });
  const server = await serveRpc({ node, host: "127.0.0.1", port: 0 });
  try {
    await use(server);
  } finally {
    await server.close();
    node.close();
  }
}
