/**
 * The meaning and remedy of what a node's pool says: its custom codes by name, where no error in blocks has that name, and
 * its other verdicts.
 */

import type { PoolError } from "./pool_error.ts";
import { askOwner, register, report, type Row } from "./refusal_rows.ts";

/** Names that were first the pool's. */
export const customRows: Readonly<Record<string, Row>> = {
  ColdkeyInSwapSchedule: ["The coldkey is about to be swapped", "use the new coldkey", "never"],
  StakeAmountTooLow: ["The amount is below the chain's minimum", "raise the amount", "never"],
  BalanceTooLow: ["The coldkey's balance does not cover the amount", "transfer to the coldkey", "never"],
  HotkeyAccountDoesntExist: ["The chain does not know the hotkey", register, "never"],
  RateLimitExceeded: ["The last call of this kind is too recent", "wait", "afterRateLimit"],
  TransferDisallowed: ["The subnet does not allow moving stake", askOwner, "never"],
  ZeroMaxAmount: ["Nothing could be staked at the requested price", "change the amount", "never"],
  InvalidRevealRound: [
    "The drand round of the commit is in the past",
    "check this machine's clock; commit again",
    "nextBlock",
  ],
  CommitNotFound: ["There is no commit to reveal", "commit first", "never"],
  CommitBlockNotInRevealRange: ["The commit cannot be revealed in this epoch", "wait for its epoch", "afterEpoch"],
  UidNotFound: ["The hotkey has no uid in the subnet", register, "never"],
  EvmKeyAssociateRateLimitExceeded: ["An EVM key was associated too recently", "wait", "afterRateLimit"],
  InvalidRealAccount: ["The account acted for does not match", report, "never"],
  FailedShieldedTxParsing: ["A shielded transaction could not be read", report, "never"],
  InvalidShieldedTxPubKeyHash: ["A shielded transaction was made for another key", report, "never"],
  DelegateTakeTooLow: ["The take is below the chain's minimum", "raise the take", "never"],
  DelegateTakeTooHigh: ["The take is above the chain's maximum", "lower the take", "never"],
  BadRequest: ["The chain cannot interpret the call", report, "never"],
};

export const poolRows: Readonly<Record<Exclude<PoolError["kind"], "custom">, Row>> = {
  stale: ["Another extrinsic of this account used the nonce first", "let only one process use this key", "nextBlock"],
  future: ["The account's earlier extrinsics have not arrived", "none", "nextBlock"],
  badProof: [
    "The node does not accept the signature, though it was made for the runtime it announces",
    report,
    "afterUpgrade",
  ],
  ancientBirthBlock: ["The extrinsic arrived after the last block in which it is valid", "none", "nextBlock"],
  payment: ["The account cannot pay the fee", "transfer to the account that signs", "never"],
  exhaustsResources: ["The block is full", "none", "nextBlock"],
  lowPriority: [
    "Another extrinsic of this account is waiting in the pool",
    "let only one process use this key",
    "nextBlock",
  ],
  alreadyImported: ["The extrinsic is already waiting in the pool", "none", "nextBlock"],
  banned: ["The node refused this same extrinsic a moment ago", "none", "nextBlock"],
  dropped: ["The node's pool is full", "none, or use another endpoint", "nextBlock"],
  other: ["The node refused the extrinsic", "read its message", "never"],
};
