/**
 * A chain client, one or more fault proxies and the embedded chain's node behind them; blocks and time come when a test says so.
 *
 * The client's clock is a test's, except that waits shorter than `swiftMs` pass at once, as those before a reconnection: what happens
 * there comes from sockets, and a test awaits the effect. Everything that can be awaited is an event.
 */

import { assert } from "@std/assert";
import type { ChainCall, ChainSigner } from "../../../chain/call.ts";
import type { Receipt, Refusal } from "../../../chain/chain.ts";
import { type GenesisOptions, raoPerToken } from "../../../chain/local/block/genesis.ts";
import { endowedGenesis } from "./endowed.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { type LocalNode, localNode } from "../../../chain/local/rpc/server/local_node.ts";
import { type RpcServer, serveRpc } from "../../../chain/local/rpc/server/rpc_server.ts";
import { type Runtime, runtimeOf } from "../../../chain/local/surface/runtime.ts";
import { runtimeSurface } from "../../../chain/local/surface/surface.ts";
import { SubtensorChain, type SubtensorOptions } from "../../../chain/subtensor/subtensor_chain.ts";
import type { Cancel } from "../../../chain/subtensor/connection/timers.ts";
import { hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import { ChainFaultProxy } from "./chain_fault_proxy.ts";
import { ManualTimers } from "../net/manual_timers.ts";

export const netuid = 9;
const keyOf = (seed: number): ChainSigner => hotkeyOfMiniSecret(new Uint8Array(32).fill(seed));
export const payer = keyOf(1), ownerHotkey = keyOf(2), stranger = keyOf(3);
export const token = raoPerToken;

export const transferCall: ChainCall = { type: "transfer", to: stranger.address, amountRao: 5n * token };

/** A clock on which short waits take no time. */
export class SwiftTimers extends ManualTimers {
  swiftMs = 5_000;
  readonly swiftWaits: number[] = [];

  override after(delayMs: number, callback: () => void): Cancel {
    if (delayMs > this.swiftMs) return super.after(delayMs, callback);
    this.swiftWaits.push(delayMs);
    let isCancelled = false;
    queueMicrotask(() => isCancelled || callback());
    return () => isCancelled = true;
  }
}

export interface FaultWorldOptions {
  readonly proxies?: number; // default 1
  readonly archives?: number; // of them at the end are archive endpoints; default 0
  readonly client?: Partial<SubtensorOptions>;
  readonly genesis?: GenesisOptions;
  readonly timers?: SwiftTimers;
}

export class FaultWorld {
  readonly timers: SwiftTimers;
  readonly proxies: ChainFaultProxy[] = [];
  readonly ledger: LocalLedger;
  chain!: SubtensorChain; // set by connect
  readonly #options: FaultWorldOptions;
  readonly #nodes: { node: LocalNode; server: RpcServer; runtime: Runtime }[] = [];
  readonly #others: SubtensorChain[] = [];
  #seenBlock = 0;
  #seen = Promise.withResolvers<void>();
  #submitted = Promise.withResolvers<void>();

  private constructor(options: FaultWorldOptions) {
    this.#options = options;
    this.timers = options.timers ?? new SwiftTimers();
    const accounts = { ownerColdkey: payer.address, ownerHotkey: ownerHotkey.address };
    const genesis = endowedGenesis([payer.address], {
      netuid,
      ...accounts,
      blockMs: 12_000,
      ...options.genesis,
      hyperparameters: { servingRateLimitBlocks: 3, ...options.genesis?.hyperparameters },
    });
    this.ledger = LocalLedger.open({ path: ":memory:", genesis });
    const submit = this.ledger.submit.bind(this.ledger);
    this.ledger.submit = (options) => {
      const submission = submit(options);
      this.#submitted.resolve();
      this.#submitted = Promise.withResolvers();
      return submission;
    };
  }

  /** Without a client yet. */
  static async open(options: FaultWorldOptions = {}): Promise<FaultWorld> {
    const world = new FaultWorld(options);
    const url = await world.serve(world.ledger.genesis.specVersion);
    for (let i = 0; i < (options.proxies ?? 1); i++) world.proxies.push(await ChainFaultProxy.open(url));
    return world;
  }

  /** A node over the same ledger with this version of the runtime; its address. */
  async serve(specVersion: number): Promise<string> {
    const { epochs, blockMs } = this.ledger.genesis;
    const runtime = runtimeOf(runtimeSurface({ epochs, blockMs, specVersion }));
    const node = localNode({ ledger: this.ledger, runtime });
    const server = await serveRpc({ node, host: "127.0.0.1", port: 0 });
    this.#nodes.push({ node, server, runtime });
    return server.url;
  }

  /** Every node runs the next version of its runtime from now on; `isTold`: subscribers are notified. */
  upgrade({ isTold }: { isTold: boolean }): void {
    for (const { runtime: { version, surface } } of this.#nodes) {
      const specVersion = version.specVersion + 1;
      for (const changed of [version, surface]) Object.assign(changed, { specVersion });
      for (const proxy of isTold ? this.proxies : []) proxy.announceVersion(version);
    }
  }

  async connect(): Promise<SubtensorChain> {
    const urls = this.proxies.map(({ url }) => url);
    const live = urls.length - (this.#options.archives ?? 0);
    this.chain = await SubtensorChain.connect({
      endpoints: { urls: urls.slice(0, live), archiveUrls: urls.slice(live), isPublic: false },
      netuid,
      timers: this.timers,
      dice: () => 0.5,
      ...this.#options.client,
    });
    this.chain.onHead(({ block }) => {
      this.#seenBlock = block;
      this.#seen.resolve();
      this.#seen = Promise.withResolvers();
    });
    return this.chain;
  }

  /** A second client of the node, past the proxies: another process with the same keys. */
  async another(): Promise<SubtensorChain> {
    const endpoints = { urls: [this.#nodes[0]!.server.url], archiveUrls: [], isPublic: false };
    const chain = await SubtensorChain.connect({ endpoints, netuid, timers: this.timers, dice: () => 0.5 });
    this.#others.push(chain);
    return chain;
  }

  get proxy(): ChainFaultProxy {
    return this.proxies[0]!;
  }

  /** Makes a block without waiting for any client. */
  produce(): number {
    const head = this.ledger.head();
    return this.ledger.produceBlock(head.timestampMs + this.ledger.genesis.blockMs).number;
  }

  /** Makes a block and waits until the client has told of it. */
  async mine(): Promise<number> {
    const number = this.produce();
    await this.seen(number);
    return number;
  }

  async seen(block: number): Promise<void> {
    while (this.#seenBlock < block) await this.#seen.promise;
  }

  /** Resolves when a call next reaches the ledger, accepted or not. */
  submitted(): Promise<void> {
    return this.#submitted.promise;
  }

  /** Sends a call, and makes the block it waits for unless it is settled before. */
  async deliver(call: ChainCall, signer: ChainSigner = payer): Promise<Receipt> {
    const submitted = this.submitted();
    let isSettled = false;
    const receipt = this.chain.send(call, signer).finally(() => isSettled = true);
    await Promise.race([submitted, receipt]);
    if (!isSettled) this.produce();
    return await receipt;
  }

  /** The refusal that a call meets. */
  async refusal(call: ChainCall, signer: ChainSigner = payer): Promise<Refusal> {
    const receipt = await this.deliver(call, signer);
    assert(receipt.status === "refused", `${call.type} is refused: ${JSON.stringify(receipt)}`);
    return receipt.refusal;
  }

  /** Another program of the same account: its call is in the ledger's pool at once. */
  elsewhere(call: ChainCall, signer: ChainSigner = payer): void {
    const nonce = this.ledger.nonceOf(signer.publicKey);
    const { status } = this.ledger.submit({ from: signer.publicKey, nonce, call });
    assert(status === "accepted");
  }

  /** Calls in blocks since genesis: what was really done. */
  callsDone(): number {
    const balance = this.ledger.state.read("account", stranger.publicKey.toHex())?.freeRao ?? 0n;
    assert(balance % (5n * token) === 0n, "only the transfer above was sent");
    return Number(balance / (5n * token));
  }

  async close(): Promise<void> {
    for (const chain of [this.chain, ...this.#others]) await chain?.close();
    for (const proxy of this.proxies) await proxy.close();
    for (const { node, server } of this.#nodes) {
      await server.close();
      node.close();
    }
    this.ledger.close();
  }
}

/** A test in a world that is closed afterwards; `connects: false` leaves connecting to the test. */
export function faultTest(
  name: string,
  options: FaultWorldOptions & { readonly connects?: boolean },
  body: (world: FaultWorld) => Promise<void>,
): void {
  Deno.test(`Subtensor client: ${name}`, async () => {
    const world = await FaultWorld.open(options);
    try {
      if (options.connects !== false) await world.connect();
      await body(world);
    } finally {
      await world.close();
    }
  });
}
