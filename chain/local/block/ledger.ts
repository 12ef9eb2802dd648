/**
 * The embedded chain as its JSON-RPC node sees it. Values: numbers up to 32 bits, bigints above, Uint8Array(32) for
 * accounts, `{field: value}` in camel case for structs.
 */

import type { ChainCall } from "../../call.ts";
import type { ChainEvent } from "./events.ts";

export type AccountId = Uint8Array;

export interface LocalBlock {
  readonly number: number;
  readonly hash: Uint8Array; // blake2b-256 of the SCALE header
  readonly parentHash: Uint8Array;
  readonly timestampMs: number;
  readonly events: readonly ChainEvent[]; // before any call
  readonly outcomes: readonly CallOutcome[]; // in the calls' order
}

export interface LocalHeader {
  readonly parentHash: Uint8Array;
  readonly number: number;
  readonly stateRoot: Uint8Array;
  readonly extrinsicsRoot: Uint8Array;
}

export interface CallOutcome {
  readonly submission: number;
  readonly error: { readonly pallet: string; readonly name: string } | null; // null: it worked
  readonly events: readonly ChainEvent[]; // of a failed call, its fee's
}

/** `submitEncrypted` precedes the extrinsic that the node has decrypted from it. */
export type LedgerCall = ChainCall | { readonly type: "submitEncrypted"; readonly id: Uint8Array };

export type Submission =
  | { readonly status: "accepted"; readonly submission: number }
  | { readonly status: "refused"; readonly kind: "stale" | "future" | "lowPriority" | "payment"; readonly custom: null }
  | { readonly status: "refused"; readonly kind: "custom"; readonly custom: number };

export interface Ledger {
  readonly genesisHash: Uint8Array;
  head(): LocalBlock;
  /** Mortal eras need all past headers. */
  header(hash: Uint8Array): LocalHeader | null;
  blockHash(number: number): Uint8Array | null;
  onBlock(listener: (block: LocalBlock) => void): () => void;
  nonceOf(account: AccountId): number;
  submit(options: { from: AccountId; nonce: number; call: LedgerCall }): Submission;
  /** For example `SubtensorModule.Tempo` with `[9]`; undefined if nothing is stored. */
  storage(name: string, keys: readonly unknown[]): unknown;
  /** For example `SubnetInfoRuntimeApi.get_metagraph` with `[9]`; undefined if unknown. */
  runtimeApi(name: string, args: readonly unknown[]): unknown;
  /** Null if no longer kept. Absent: only the head is kept. */
  at?(block: number): LedgerState | null;
}

export type LedgerState = Pick<Ledger, "storage" | "runtimeApi">;
