/**
 * What the JSON-RPC face (node side) needs of the embedded chain, so that neither knows the other's insides.
 *
 * The ledger keeps accounts and subnets and makes blocks; the face translates bytes. Values cross as plain data: numbers for widths
 * up to 32 bits, bigints above, Uint8Array(32) for account ids, `{field: value}` for structs with the runtime's camel-case names.
 */

import type { ChainCall } from "../call.ts";
import type { ChainEvent } from "./events.ts";

/** 32 bytes of a public key. */
export type AccountId = Uint8Array;

export interface LocalBlock {
  readonly number: number;
  readonly hash: Uint8Array; // blake2b-256 of the SCALE header below
  readonly parentHash: Uint8Array;
  readonly timestampMs: number;
  readonly events: readonly ChainEvent[]; // of what the chain did by itself, before any call
  readonly outcomes: readonly CallOutcome[]; // of the calls it holds, in order
}

/** SCALE header: parentHash(32) ++ compact(number) ++ stateRoot(32) ++ extrinsicsRoot(32) ++ compact(0). */
export interface LocalHeader {
  readonly parentHash: Uint8Array;
  readonly number: number;
  readonly stateRoot: Uint8Array;
  readonly extrinsicsRoot: Uint8Array;
}

export interface CallOutcome {
  readonly submission: number; // what `submit` returned
  readonly error: { readonly pallet: string; readonly name: string } | null; // dispatch error, null when it worked
  readonly events: readonly ChainEvent[]; // in the runtime's order; of a call that failed those of its fee
}

/**
 * A call of the ledger: one of ours, or one that only other clients send. `submitEncrypted` carries an extrinsic that the node has
 * decrypted (rpc/shield.ts) and handed in behind it.
 */
export type LedgerCall = ChainCall | { readonly type: "submitEncrypted"; readonly id: Uint8Array };

export type Submission =
  | { readonly status: "accepted"; readonly submission: number } // in the next block
  | { readonly status: "refused"; readonly kind: "stale" | "future" | "lowPriority" | "payment"; readonly custom: null }
  | { readonly status: "refused"; readonly kind: "custom"; readonly custom: number }; // pool custom code

export interface Ledger {
  readonly genesisHash: Uint8Array;
  head(): LocalBlock;
  /** A past block's header, null when it is unknown. All are kept: they are needed for mortal eras. */
  header(hash: Uint8Array): LocalHeader | null;
  blockHash(number: number): Uint8Array | null;
  onBlock(listener: (block: LocalBlock) => void): () => void;
  nonceOf(account: AccountId): number; // next one, calls in the pool counted
  submit(options: { from: AccountId; nonce: number; call: LedgerCall }): Submission;
  /** A storage value at the head by its runtime name, e.g. `SubtensorModule.Tempo` with keys `[9]`; undefined where nothing is stored. */
  storage(name: string, keys: readonly unknown[]): unknown;
  /** A runtime API's answer at the head, e.g. `SubnetInfoRuntimeApi.get_metagraph` with `[9]`; undefined where there is none. */
  runtimeApi(name: string, args: readonly unknown[]): unknown;
  /** The state after a recent block, null when it is no longer kept. Without it only the head's state can be read. */
  at?(block: number): LedgerState | null;
}

export type LedgerState = Pick<Ledger, "storage" | "runtimeApi">;
