/** Refusals for people. Unknown ones give the chain's own message. */

import type { ChainCall } from "../../call.ts";
import type { Refusal } from "../../chain.ts";
import type { PoolError } from "./pool_error.ts";
import { askOwner, dispatchRows, register, report, type Row, rowsOfCalls } from "./refusal_rows.ts";

type CallType = ChainCall["type"];

/** By the pool's custom code. */
const customNames: readonly string[] = [
  ...["ColdkeyInSwapSchedule", "StakeAmountTooLow", "BalanceTooLow", "SubnetNotExists", "HotkeyAccountDoesntExist"],
  ...[
    "NotEnoughStakeToWithdraw",
    "RateLimitExceeded",
    "InsufficientLiquidity",
    "SlippageTooHigh",
    "TransferDisallowed",
  ],
  ...["HotKeyNotRegisteredInNetwork", "InvalidIpAddress", "ServingRateLimitExceeded", "InvalidPort", "ZeroMaxAmount"],
  ...["InvalidRevealRound", "CommitNotFound", "CommitBlockNotInRevealRange", "InputLengthsUnequal", "UidNotFound"],
  ...["EvmKeyAssociateRateLimitExceeded", "ColdkeySwapDisputed", "InvalidRealAccount", "FailedShieldedTxParsing"],
  ...["InvalidShieldedTxPubKeyHash", "NonAssociatedColdKey", "DelegateTakeTooLow", "DelegateTakeTooHigh"],
];
const badRequestCode = 255;

export function dispatchRefusal({ name, docs, call }: { name: string; docs: string; call: CallType }): Refusal {
  return refusal(name, rowOf(name, call), docs);
}

/** `words`: the node's message. */
export function poolRefusal(error: PoolError, { words, call }: { words: string; call: CallType }): Refusal {
  if (error.kind !== "custom") return refusal(poolName(error.kind), poolRows[error.kind], words);
  const meant = error.custom === badRequestCode ? "BadRequest" : customNames[error.custom];
  return refusal(`Custom(${error.custom})`, meant === undefined ? undefined : rowOf(meant, call), words);
}

export function axonRefusal(meant: "InvalidIpAddress" | "InvalidPort"): Refusal {
  return poolRefusal({ kind: "custom", custom: customNames.indexOf(meant) }, { words: "", call: "serveAxon" });
}

export function invalidated(): Refusal {
  return refusal("Invalid", [
    "The extrinsic became invalid while it waited for its block, as happens when the runtime is upgraded",
    "none",
    "nextBlock",
  ], "");
}

export function nonceTaken(): Refusal {
  return refusal("NonceTaken", poolRows.stale, "");
}

/** Since the pool's checks moved into blocks, either may use the other's names. */
function rowOf(name: string, call: CallType): Row | undefined {
  return [rowsOfCalls[call], dispatchRows, customRows].find((rows) => Object.hasOwn(rows, name))?.[name];
}

function refusal(name: string, row: Row | undefined, words: string): Refusal {
  if (row !== undefined) return { name, sentence: row[0], action: row[1], retry: row[2] };
  const said = words === "" ? "and says no more" : `and says: ${words.slice(0, 300)}`;
  return {
    name,
    sentence: `The chain refused with '${name}', which this version of iota does not know, ${said}`,
    action: "look the name up in the chain's documentation, or update iota",
    retry: "never",
  };
}

function poolName(kind: string): string {
  return kind.slice(0, 1).toUpperCase() + kind.slice(1);
}

const customRows: Readonly<Record<string, Row>> = {
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

const poolRows: Readonly<Record<Exclude<PoolError["kind"], "custom">, Row>> = {
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
