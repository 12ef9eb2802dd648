/**
 * A ledger for tests of the JSON-RPC face: blocks are made when the test says so, and state is what the test puts in.
 *
 * It accepts every call in nonce order, and only records it.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import type {
  AccountId,
  CallOutcome,
  Ledger,
  LedgerCall,
  LedgerState,
  LocalBlock,
  LocalHeader,
  Submission,
} from "../../../chain/local/block/ledger.ts";
import { ScaleWriter } from "../../../chain/local/surface/scale_bytes.ts";

export interface AcceptedCall {
  readonly from: AccountId;
  readonly nonce: number;
  readonly call: LedgerCall;
}

type Refused = Submission & { readonly status: "refused" };

export class FakeLedger implements Ledger {
  readonly genesisHash: Uint8Array;
  readonly accepted: AcceptedCall[] = [];
  /** Set by a test: the next calls are refused like this, or fail in their block like that. */
  refuseWith: Refused | null = null;
  failWith: CallOutcome["error"] = null;
  readonly #headers = new Map<string, LocalHeader>();
  readonly #blocks: LocalBlock[] = [];
  readonly #state = new Map<string, unknown>();
  readonly #answers = new Map<string, unknown>();
  readonly #nonces = new Map<string, number>();
  readonly #listeners = new Set<(block: LocalBlock) => void>();
  #pool: CallOutcome[] = [];
  #submissions = 0;

  constructor() {
    this.genesisHash = this.#append([]).hash;
  }

  head(): LocalBlock {
    return this.#blocks.at(-1)!;
  }

  header(hash: Uint8Array): LocalHeader | null {
    return this.#headers.get(hash.toHex()) ?? null;
  }

  blockHash(number: number): Uint8Array | null {
    return this.#blocks[number]?.hash ?? null;
  }

  onBlock(listener: (block: LocalBlock) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  nonceOf(account: AccountId): number {
    return this.#nonces.get(account.toHex()) ?? 0;
  }

  submit({ from, nonce, call }: AcceptedCall): Submission {
    if (this.refuseWith !== null) return this.refuseWith;
    const expected = this.nonceOf(from);
    if (nonce !== expected) {
      return { status: "refused", kind: nonce < expected ? "stale" : "future", custom: null };
    }
    this.accepted.push({ from, nonce, call });
    this.#nonces.set(from.toHex(), nonce + 1);
    const submission = ++this.#submissions;
    this.#pool.push({ submission, error: this.failWith, events: [] });
    return { status: "accepted", submission };
  }

  storage(name: string, keys: readonly unknown[]): unknown {
    if (name === "System.Account") return { nonce: this.nonceOf(keys[0] as AccountId) }; // clients take it from here
    return this.#state.get(stateKey(name, keys));
  }

  runtimeApi(name: string, args: readonly unknown[]): unknown {
    return this.#answers.get(stateKey(name, args));
  }

  /** Only the head's state is there. */
  at(block: number): LedgerState | null {
    return block === this.head().number ? this : null;
  }

  store(name: string, keys: readonly unknown[], value: unknown): void {
    this.#state.set(stateKey(name, keys), value);
  }

  answer(name: string, args: readonly unknown[], value: unknown): void {
    this.#answers.set(stateKey(name, args), value);
  }

  mine(): LocalBlock {
    const outcomes = this.#pool;
    this.#pool = [];
    const block = this.#append(outcomes);
    for (const listener of this.#listeners) listener(block);
    return block;
  }

  #append(outcomes: readonly CallOutcome[]): LocalBlock {
    const number = this.#blocks.length;
    const parentHash = this.#blocks.at(-1)?.hash ?? new Uint8Array(32);
    const header = { parentHash, number, stateRoot: filled(number), extrinsicsRoot: filled(outcomes.length) };
    const hash = blake2b(headerBytes(header), { dkLen: 32 });
    const block = { number, hash, parentHash, timestampMs: 1_700_000_000_000 + number * 12_000, events: [], outcomes };
    this.#headers.set(hash.toHex(), header);
    this.#blocks.push(block);
    return block;
  }
}

function filled(value: number): Uint8Array {
  return new Uint8Array(32).fill(value);
}

function headerBytes({ parentHash, number, stateRoot, extrinsicsRoot }: LocalHeader): Uint8Array {
  const writer = new ScaleWriter();
  writer.raw(parentHash);
  writer.compact(number);
  writer.raw(stateRoot);
  writer.raw(extrinsicsRoot);
  writer.compact(0); // digest
  return writer.bytes();
}

function stateKey(name: string, keys: readonly unknown[]): string {
  return JSON.stringify([name, ...keys], (_, value: unknown) => value instanceof Uint8Array ? value.toHex() : value);
}
