/** What anyone may read of a run's past: the bodies of the API's answers. */

import type { MemberAccount } from "../ledger/member_account.ts";
import type { RunEarnings } from "../ledger/run_earnings.ts";

/** The body of `/api/v1/history`: what the run's records cover. */
export interface PublicSpan {
  readonly first: number; // as the sequence of its record; 0: no record can be read
  readonly last: number;
  readonly firstAtMs: number; // wall clock
  readonly lastAtMs: number;
  /** Records that are in no file, the first `mostGaps` gaps. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly missing: number; // records in all gaps
  readonly damaged: number; // lines that cannot be read
}

/** The body of `/api/v1/earnings`; null: no round has ended, or there is no signed log. */
export type PublicEarnings = RunEarnings;

/** The body of `/api/v1/member`. */
export interface PublicAccount extends MemberAccount {
  /** On the run's chain, as last read; null where it has none, or none was read yet. */
  readonly weights: {
    readonly block: number;
    readonly atMs: number; // wall clock
    readonly setAtBlock: number | null; // of a validator; null: it has none
    readonly given: readonly { readonly node: string; readonly share: number }[]; // the largest first
    readonly received: readonly { readonly validator: string; readonly share: number }[]; // by validators with most stake
  } | null;
}
