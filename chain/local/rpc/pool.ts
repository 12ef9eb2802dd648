/**
 * Extrinsics until their block, and their watchers, with a node's checks. Accepted ones are in the next block, so the
 * pool is empty after each.
 */

import { unreachable } from "../../../core/assert.ts";
import type { Ledger, LocalBlock, Submission } from "../block/ledger.ts";
import { isPaid } from "../calls/dispatch.ts";
import { chainCallOf } from "./chain_calls.ts";
import { extrinsicHash, openExtrinsic, type SigningScope } from "./extrinsic.ts";
import { type Hex, hexOf } from "./hex.ts";
import {
  alreadyImported,
  customInvalid,
  invalidTransaction,
  lowPriority,
  poolIsFull,
  RpcError,
  temporarilyBanned,
} from "./rpc_error.ts";
import { carrierOf } from "./shield.ts";

export interface PooledExtrinsic {
  readonly bytes: Uint8Array;
  readonly hash: Hex;
  readonly isFree: boolean;
}

type Watcher = (status: unknown) => void;

interface PoolOptions {
  readonly ledger: Ledger;
  readonly scope: () => SigningScope;
  readonly poolExtrinsics: number;
  readonly keptBlocks: number;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #waiting = new Map<number, PooledExtrinsic>(); // by submission
  readonly #watchers = new Map<Hex, Set<Watcher>>();
  readonly #included = new Map<Hex, number>(); // block of inclusion, oldest first
  #unfinal: { readonly watchers: readonly Watcher[]; readonly blockHash: Uint8Array }[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  waiting(): readonly PooledExtrinsic[] {
    return [...this.#waiting.values()];
  }

  submit(bytes: Uint8Array): Hex {
    return this.#accept(bytes, { mayCarry: true });
  }

  #accept(bytes: Uint8Array, { mayCarry }: { mayCarry: boolean }): Hex {
    const { ledger, poolExtrinsics } = this.#options;
    const hash = hexOf(extrinsicHash(bytes));
    if (this.#included.has(hash)) throw temporarilyBanned();
    if (this.waiting().some((each) => each.hash === hash)) throw alreadyImported(hash);
    if (this.#waiting.size >= poolExtrinsics) throw poolIsFull();
    const extrinsic = openExtrinsic(bytes, this.#options.scope());
    const { from, nonce } = extrinsic;
    const carrier = mayCarry ? carrierOf(extrinsic) : null;
    const call = carrier?.call ?? chainCallOf(extrinsic.call);
    const submission = ledger.submit({ from, nonce, call });
    if (submission.status === "refused") throw refusal(submission);
    this.#waiting.set(submission.submission, { bytes, hash, isFree: !isPaid(call) });
    if (carrier !== null && carrier.inner !== null) this.#acceptInner(carrier.inner);
    return hash;
  }

  /** A refused one leaves only the carrier, as on a real chain. */
  #acceptInner(bytes: Uint8Array): void {
    try {
      this.#accept(bytes, { mayCarry: false });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }

  watch(hash: Hex, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(hash) ?? new Set();
    this.#watchers.set(hash, watchers.add(watcher));
    watcher("ready");
    return () => void watchers.delete(watcher);
  }

  take(block: LocalBlock): ReadonlyMap<number, PooledExtrinsic> {
    const included = new Map<number, PooledExtrinsic>();
    for (const { submission } of block.outcomes) {
      const extrinsic = this.#waiting.get(submission);
      if (extrinsic === undefined) continue;
      included.set(submission, extrinsic);
      this.#waiting.delete(submission);
      this.#included.set(extrinsic.hash, block.number);
    }
    for (const [hash, number] of this.#included) {
      if (number > block.number - this.#options.keptBlocks) break;
      this.#included.delete(hash);
    }
    return included;
  }

  /**
   * Watchers hear of finality with the next block: of two notifications at once, @polkadot/api 16.5.6 shows only the
   * second.
   */
  announce(included: ReadonlyMap<number, PooledExtrinsic>, blockHash: Uint8Array): void {
    for (const final of this.#unfinal) {
      for (const watcher of final.watchers) watcher({ finalized: hexOf(final.blockHash) });
    }
    this.#unfinal = [...included.values()].map(({ hash }) => {
      const watchers = [...this.#watchers.get(hash) ?? []];
      this.#watchers.delete(hash);
      return { watchers, blockHash };
    });
    for (const { watchers } of this.#unfinal) {
      for (const watcher of watchers) watcher({ inBlock: hexOf(blockHash) });
    }
  }
}

function refusal(submission: Submission & { readonly status: "refused" }): RpcError {
  switch (submission.kind) {
    case "custom":
      return customInvalid(submission.custom);
    case "lowPriority":
      return lowPriority();
    case "stale":
    case "future":
    case "payment":
      return invalidTransaction(submission.kind);
    default:
      return unreachable(submission);
  }
}
