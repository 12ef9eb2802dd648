/** The bodies of the API's answers about a run's past. */

import type { MemberAccount } from "../ledger/member_account.ts";
import type { RunEarnings } from "../ledger/run_earnings.ts";

/** `/api/v1/history`. */
export interface PublicSpan {
  readonly first: number; // sequence; 0: no record can be read
  readonly last: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Missing records, the first `mostGaps` gaps. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly missing: number;
  readonly damaged: number;
}

/** `/api/v1/earnings`; null: no round has ended, or no signed log. */
export type PublicEarnings = RunEarnings;

/** `/api/v1/member`. */
export interface PublicAccount extends MemberAccount {
  /** On the chain, as last read; null: none. */
  readonly weights: {
    readonly block: number;
    readonly atMs: number;
    readonly setAtBlock: number | null; // null: a miner, or none
    readonly given: readonly { readonly node: string; readonly share: number }[];
    readonly received: readonly { readonly validator: string; readonly share: number }[]; // by those with most stake
  } | null;
}
