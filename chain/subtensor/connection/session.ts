/**
 * One connection to one node. Without a new block for `headSilenceMs` it ends itself, even if the socket seems alive.
 * The runtime in use is the one that the node last announced, or soon will be.
 */

import { compactStripLength, hexToU8a } from "@polkadot/util";
import * as v from "valibot";
import { AssertionFailure } from "../../../core/assert.ts";
import { ChainError, type Head } from "../../chain.ts";
import { type BlockRef, hashSchema, hexSchema, parseHeader } from "./plain_values.ts";
import { RpcSocket, type RpcSocketOptions } from "./rpc_socket.ts";
import { Runtime, type RuntimeVersion } from "./runtime.ts";
import type { Cancel, Timers } from "./timers.ts";

export interface SessionOptions {
  readonly url: string;
  readonly timers: Timers;
  readonly callDeadlineMs: number;
  readonly socketOptions?: RpcSocketOptions["socketOptions"];
  readonly headSilenceMs: number; // six blocks of 12 s, and some
  readonly keepaliveMs: number;
  /** Saves 0.6 MB if the node runs the same version of the same chain. */
  readonly known: { readonly genesisHash: string; readonly runtime: Runtime } | null;
  readonly onHead: (head: Head) => void;
}

const versionSchema = v.object({ specName: v.string(), specVersion: v.number(), transactionVersion: v.number() });
const metadataVersion = "0x0f000000"; // 15, the first with runtime APIs; 16 parses slower

export class Session {
  readonly socket: RpcSocket;
  readonly genesisHash: string;
  readonly #options: SessionOptions;
  readonly #cache = new Map<string, Promise<unknown>>();
  #runtime: Runtime;
  #upgrade: Promise<void> = Promise.resolve();
  #head: BlockRef;
  #seenMs: number;
  #hasNewHead = false;
  #cancelWatchdog: Cancel = () => {};
  #cancelKeepalive: Cancel = () => {};

  private constructor(
    options: SessionOptions,
    opened: { socket: RpcSocket; genesisHash: string; runtime: Runtime; head: BlockRef },
  ) {
    this.#options = options;
    this.socket = opened.socket;
    this.genesisHash = opened.genesisHash;
    this.#runtime = opened.runtime;
    this.#head = opened.head;
    this.#seenMs = options.timers.nowMs();
  }

  /** Rejects, with the socket closed, if the handshake fails. */
  static async open(options: SessionOptions): Promise<Session> {
    const socket = await RpcSocket.open(options);
    try {
      const [genesis, version, head] = await Promise.all([
        socket.call("chain_getBlockHash", [0]),
        socket.call("state_getRuntimeVersion", []),
        socket.call("chain_getHeader", []),
      ]);
      const genesisHash = v.parse(hashSchema, genesis);
      const known = options.known?.genesisHash === genesisHash ? options.known.runtime : null;
      const runtime = await loadRuntime(socket, v.parse(versionSchema, version), known);
      const session = new Session(options, { socket, genesisHash, runtime, head: parseHeader(head) });
      await session.#start();
      return session;
    } catch (error) {
      const reason = asChainError(error, options.url);
      socket.terminate(reason);
      await socket.closed;
      throw reason;
    }
  }

  get url(): string {
    return this.socket.url;
  }

  get head(): BlockRef {
    return this.#head;
  }

  get seenMs(): number {
    return this.#seenMs;
  }

  /** In sync, not just running. */
  get hasNewHead(): boolean {
    return this.#hasNewHead;
  }

  get runtime(): Runtime {
    return this.#runtime;
  }

  get upgraded(): Promise<void> {
    return this.#upgrade;
  }

  /** Reloads if `isForced` or a new version. */
  async refreshRuntime(options: { isForced: boolean }): Promise<void> {
    const version = v.parse(versionSchema, await this.socket.call("state_getRuntimeVersion", []));
    this.#followVersion(version, options);
    await this.#upgrade;
  }

  /** For when our head's state is gone there. */
  async freshHead(): Promise<BlockRef> {
    return parseHeader(await this.socket.call("chain_getHeader", []));
  }

  /** Until the next block. */
  cached<T>(name: string, work: () => Promise<T>): Promise<T> {
    const found = this.#cache.get(name) as Promise<T> | undefined;
    if (found !== undefined) return found;
    const promise = work();
    this.#cache.set(name, promise);
    promise.catch(() => this.#cache.delete(name));
    return promise;
  }

  async close(reason: ChainError): Promise<void> {
    this.socket.terminate(reason);
    await this.socket.closed;
  }

  async #start(): Promise<void> {
    this.socket.onBroken(() => {
      this.#cancelWatchdog();
      this.#cancelKeepalive();
    });
    this.#feedWatchdog();
    this.#keepAlive();
    await Promise.all([
      this.socket.subscribe(
        { method: "chain_subscribeNewHeads", unsubscribe: "chain_unsubscribeNewHeads", params: [] },
        (header) => this.#followHead(header),
      ),
      this.socket.subscribe(
        { method: "state_subscribeRuntimeVersion", unsubscribe: "state_unsubscribeRuntimeVersion", params: [] },
        (version) => this.#followVersion(version, { isForced: false }),
      ),
    ]);
  }

  #followHead(json: unknown): void {
    const head = this.#parseHead(json);
    if (head === null) return;
    const isNewer = head.number > this.#head.number;
    if (head.hash === this.#head.hash || head.number < this.#head.number) return; // from an abandoned branch
    this.#head = head;
    this.#cache.clear();
    if (!isNewer) return; // another branch
    this.#seenMs = this.#options.timers.nowMs();
    this.#hasNewHead = true;
    this.#feedWatchdog();
    this.#options.onHead({ block: head.number, seenMs: this.#seenMs });
  }

  /** Null: invalid, so the session ends. */
  #parseHead(json: unknown): BlockRef | null {
    try {
      return parseHeader(json);
    } catch (error) {
      this.socket.terminate(asChainError(error, this.url));
      return null;
    }
  }

  /** One after another; work in progress keeps its runtime. */
  #followVersion(json: unknown, { isForced }: { isForced: boolean }): void {
    const previous = this.#upgrade;
    this.#upgrade = (async () => {
      await previous;
      try {
        const version = v.parse(versionSchema, json);
        const known = isForced ? null : this.#runtime;
        const runtime = await loadRuntime(this.socket, version, known);
        if (runtime === this.#runtime) return;
        this.#runtime = runtime;
        this.#cache.clear();
      } catch (error) {
        this.socket.terminate(asChainError(error, this.url)); // nothing can be read without the new runtime
      }
    })();
  }

  #feedWatchdog(): void {
    const { timers, headSilenceMs } = this.#options;
    this.#cancelWatchdog();
    if (!this.socket.isOpen) return;
    this.#cancelWatchdog = timers.after(headSilenceMs, () => {
      const seconds = headSilenceMs / 1_000;
      this.socket.terminate(new ChainError("timeout", `Cannot rely on ${this.url}: no new block for ${seconds} s`));
    });
  }

  /** For routers, and to detect a dead node. */
  #keepAlive(): void {
    const { timers, keepaliveMs } = this.#options;
    this.#cancelKeepalive = timers.after(keepaliveMs, () => {
      if (!this.socket.isOpen) return;
      this.socket.call("chain_getHeader", []).catch(() => {/* reported through `closed` */});
      this.#keepAlive();
    });
  }
}

async function loadRuntime(socket: RpcSocket, version: RuntimeVersion, known: Runtime | null): Promise<Runtime> {
  const isSame = known?.version.specVersion === version.specVersion &&
    known.version.transactionVersion === version.transactionVersion;
  if (known !== null && isSame) return known;
  return new Runtime({ metadata: await loadMetadata(socket), version });
}

/** Other versions lack the runtime APIs, so they are refused. */
async function loadMetadata(socket: RpcSocket): Promise<Uint8Array> {
  const answer = await socket.call("state_call", ["Metadata_metadata_at_version", metadataVersion]);
  const bytes = hexToU8a(v.parse(hexSchema, answer));
  if (bytes[0] === 1) return compactStripLength(bytes.subarray(1))[1];
  throw new ChainError("badAnswer", `Cannot use ${socket.url}: it does not offer metadata in version 15`);
}

export function asChainError(error: unknown, url: string): ChainError {
  if (error instanceof ChainError) return error;
  if (error instanceof AssertionFailure) throw error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ChainError("badAnswer", `Cannot use the answer of ${url}: ${detail.slice(0, 300)}`, { cause: error });
}
