/**
 * Calls for the next block, in order of arrival. A used nonce is stale, a waiting one cannot be replaced, a later one
 * is refused (a real node would park it).
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

  /** `giveBack` undoes it. */
  take(): PooledCall[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  giveBack(calls: readonly PooledCall[]): void {
    this.#calls = [...calls, ...this.#calls];
  }
}
