/**
 * The embedded chain's node. A new block is recorded (pool, log), then announced (watchers, heads). Everything is
 * synchronous, so answers are never incomplete.
 */

import type { Ledger } from "../../block/ledger.ts";
import type { Runtime } from "../../surface/runtime.ts";
import { BlockLog, Heads } from "../block_log.ts";
import { authorMethods, chainMethods, systemMethods } from "../methods/chain_methods.ts";
import { defaultRpcLimits, type RpcLimits } from "../limits.ts";
import type { Caller, Methods, NodeParts, Subscription } from "../methods/method.ts";
import { Pool } from "../pool.ts";
import { stateMethods } from "../methods/state_methods.ts";
import { stateReader } from "../methods/state_reader.ts";
import { ScaleError } from "../../surface/scale_bytes.ts";
import { type BadRequest, errorText, notificationText, parseMessage, type Request, resultText } from "../json_rpc.ts";
import { invalidParams, methodNotFound, needsSocket, RpcError, tooManySubscriptions } from "../rpc_error.ts";

interface NodeOptions {
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

/** The only place where an `RpcError` is caught. */
interface ConnectionOptions {
  readonly node: NodeParts;
  readonly methods: Methods;
  /** Null: no notifications (HTTP). */
  readonly push: ((text: string) => void) | null;
}

export class Connection implements Caller {
  readonly #options: ConnectionOptions;
  readonly #stops = new Map<string, () => void>();
  #starts: (() => void)[] = []; // of subscriptions whose id is not sent yet
  #subscriptions = 0; // total, for ids

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  receive(text: string, send: (answer: string) => void): void {
    const { isBatch, requests } = parseMessage(text, this.#options.node.limits);
    const answers = requests.map((request) => this.#answer(request)).filter((answer) => answer !== null);
    if (answers.length > 0) send(isBatch ? `[${answers.join(",")}]` : answers[0]!);
    const starts = this.#starts;
    this.#starts = [];
    for (const start of starts) start();
  }

  close(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
    this.#starts = [];
  }

  subscribe({ notification, start }: Subscription): string {
    const { push, node } = this.#options;
    if (push === null) throw needsSocket();
    if (this.#stops.size >= node.limits.subscriptions) throw tooManySubscriptions(node.limits.subscriptions);
    const id = `s${++this.#subscriptions}`;
    this.#stops.set(id, () => {});
    this.#starts.push(() => {
      if (!this.#stops.has(id)) return; // already cancelled
      this.#stops.set(id, start((result) => push(notificationText(notification, { subscription: id, result }))));
    });
    return id;
  }

  unsubscribe(id: unknown): boolean {
    const stop = typeof id === "string" ? this.#stops.get(id) : undefined;
    if (stop === undefined) return false;
    stop();
    return this.#stops.delete(id as string);
  }

  #answer(request: Request | BadRequest): string | null {
    if ("error" in request) return errorText(request.id, request.error);
    const { id, method, params } = request;
    const { methods, node } = this.#options;
    try {
      if (!Object.hasOwn(methods, method)) throw methodNotFound();
      const result = methods[method]!(params, node, this);
      return id === undefined ? null : resultText(id, result);
    } catch (error) {
      const known = error instanceof ScaleError ? invalidParams(error.message) : error;
      if (!(known instanceof RpcError)) throw error;
      return id === undefined ? null : errorText(id, known);
    }
  }
}
