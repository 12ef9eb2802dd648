/**
 * The interface between the embedded chain and its JSON-RPC node. The ledger keeps accounts and subnets and makes
 * blocks; the node translates bytes.
 *
 * Values cross as plain data: numbers for widths up to 32 bits, bigints above, Uint8Array(32) for account ids,
 * `{field: value}` for structs with the runtime's camel-case names.
 */

import type { ChainCall } from "../../call.ts";
import type { ChainEvent } from "./events.ts";

export type AccountId = Uint8Array;

export interface LocalBlock {
  readonly number: number;
  readonly hash: Uint8Array; // blake2b-256 of the SCALE header below
  readonly parentHash: Uint8Array;
  readonly timestampMs: number;
  readonly events: readonly ChainEvent[]; // of the chain's own steps, before any call
  readonly outcomes: readonly CallOutcome[]; // of the calls it holds, in order
}

export interface LocalHeader {
  readonly parentHash: Uint8Array;
  readonly number: number;
  readonly stateRoot: Uint8Array;
  readonly extrinsicsRoot: Uint8Array;
}

export interface CallOutcome {
  readonly submission: number; // what `submit` returned
  readonly error: { readonly pallet: string; readonly name: string } | null; // dispatch error, null when it worked
  readonly events: readonly ChainEvent[]; // in the runtime's order; for a failed call, those of its fee
}

/** `submitEncrypted` carries an extrinsic that the node has decrypted (rpc/shield.ts) and submitted after it. */
export type LedgerCall = ChainCall | { readonly type: "submitEncrypted"; readonly id: Uint8Array };

export type Submission =
  | { readonly status: "accepted"; readonly submission: number } // in the next block
  | { readonly status: "refused"; readonly kind: "stale" | "future" | "lowPriority" | "payment"; readonly custom: null }
  | { readonly status: "refused"; readonly kind: "custom"; readonly custom: number }; // pool custom code

export interface Ledger {
  readonly genesisHash: Uint8Array;
  head(): LocalBlock;
  /** A past block's header; null if unknown. All are kept, because mortal eras need them. */
  header(hash: Uint8Array): LocalHeader | null;
  blockHash(number: number): Uint8Array | null;
  onBlock(listener: (block: LocalBlock) => void): () => void;
  nonceOf(account: AccountId): number; // the next one, including calls in the pool
  submit(options: { from: AccountId; nonce: number; call: LedgerCall }): Submission;
  /** By its runtime name, e.g. `SubtensorModule.Tempo` with keys `[9]`; undefined if nothing is stored. */
  storage(name: string, keys: readonly unknown[]): unknown;
  /** Answers a runtime API, for example `SubnetInfoRuntimeApi.get_metagraph` with `[9]`; undefined if there is no such API. */
  runtimeApi(name: string, args: readonly unknown[]): unknown;
  /** The state after a recent block; null if no longer kept. Without this method only the head's state can be read. */
  at?(block: number): LedgerState | null;
}

export type LedgerState = Pick<Ledger, "storage" | "runtimeApi">;
