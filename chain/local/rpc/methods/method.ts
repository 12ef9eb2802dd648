/** Methods answer at once or throw `RpcError`. */

import type { Ledger } from "../../block/ledger.ts";
import type { Runtime } from "../../surface/runtime.ts";
import type { BlockLog, Heads } from "../block_log.ts";
import type { RpcLimits } from "../limits.ts";
import type { Params } from "./params.ts";
import type { Pool } from "../pool.ts";
import type { StateReader } from "./state_reader.ts";

export interface NodeParts {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  readonly blocks: BlockLog;
  readonly pool: Pool;
  readonly state: StateReader;
  readonly heads: Heads;
  readonly limits: RpcLimits;
  readonly chainName: string;
}

export interface Subscription {
  readonly notification: string; // such as "chain_newHead"
  /** After the caller has the id. Returns a function that stops. */
  start(push: (result: unknown) => void): () => void;
}

export interface Caller {
  /** Throws `RpcError` without notifications or with too many subscriptions. */
  subscribe(subscription: Subscription): string;
  unsubscribe(id: unknown): boolean;
}

export type Method = (params: Params, node: NodeParts, caller: Caller) => unknown;

export type Methods = Readonly<Record<string, Method>>;
