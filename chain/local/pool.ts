/**
 * Calls that wait for the next block, in the order they came.
 *
 * An account's calls are numbered without gaps. A used nonce is stale, a waiting one cannot be replaced, and one
 * further ahead is refused (a real node would park it). Not kept on disk.
 */

import { assert } from "../../core/assert.ts";
import type { LedgerCall } from "./block/ledger.ts";
import type { AccountKey } from "./state/records.ts";

export interface PooledCall {
  readonly submission: number;
  readonly from: AccountKey;
  readonly nonce: number;
  readonly call: LedgerCall;
}

const callsMax = 8_192;

export class Pool {
  #calls: PooledCall[] = [];
  #nextSubmission = 1;

  /** The nonce that an account's next call must have, if its last one in a block had `nonce - 1`. */
  nextNonce(from: AccountKey, nonce: number): number {
    return this.#calls.reduce((next, call) => call.from === from ? next + 1 : next, nonce);
  }

  nonceProblem(of: { readonly from: AccountKey; readonly nonce: number; readonly accountNonce: number }) {
    const next = this.nextNonce(of.from, of.accountNonce);
    if (of.nonce < of.accountNonce) return "stale";
    if (of.nonce > next) return "future";
    return of.nonce < next || this.#calls.length >= callsMax ? "lowPriority" : null;
  }

  add(call: Omit<PooledCall, "submission">): number {
    assert(this.#calls.length < callsMax, `The pool must not hold more than ${callsMax} calls`);
    this.#calls.push({ ...call, submission: this.#nextSubmission });
    return this.#nextSubmission++;
  }

  /** Empties the pool into a block. `giveBack` undoes this if the block is not made. */
  take(): PooledCall[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  giveBack(calls: readonly PooledCall[]): void {
    this.#calls = [...calls, ...this.#calls];
  }
}
