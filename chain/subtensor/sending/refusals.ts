/**
 * Every refusal a subnet node can get, for people: what it means, what to do, when to retry.
 *
 * Owns: the pool's custom codes and finding the row that fits the call. Out of scope: the texts (refusal_rows.ts) and
 * deciding to retry (sender.ts, chain/duty). Invariant: every name and code gives a refusal; one without a row says so
 * and shows the chain's own message.
 */

import type { ChainCall } from "../../call.ts";
import type { Refusal } from "../../chain.ts";
import type { PoolError } from "./pool_error.ts";
import { customRows, poolRows } from "./pool_rows.ts";
import { dispatchRows, type Row, rowsOfCalls } from "./refusal_rows.ts";

type CallType = ChainCall["type"];

/** The pool's custom codes with their names. */
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

/** For an error inside a block. `docs`: what the runtime's own metadata says about it. */
export function dispatchRefusal({ name, docs, call }: { name: string; docs: string; call: CallType }): Refusal {
  return refusal(name, rowOf(name, call), docs);
}

/** For a refusal before any block. `words`: the node's message. */
export function poolRefusal(error: PoolError, { words, call }: { words: string; call: CallType }): Refusal {
  if (error.kind !== "custom") return refusal(poolName(error.kind), poolRows[error.kind], words);
  const meant = error.custom === badRequestCode ? "BadRequest" : customNames[error.custom];
  return refusal(`Custom(${error.custom})`, meant === undefined ? undefined : rowOf(meant, call), words);
}

/** A node's refusal of an axon, predicted without asking it. */
export function axonRefusal(meant: "InvalidIpAddress" | "InvalidPort"): Refusal {
  return poolRefusal({ kind: "custom", custom: customNames.indexOf(meant) }, { words: "", call: "serveAxon" });
}

/** The pool dropped an accepted extrinsic. */
export function invalidated(): Refusal {
  return refusal("Invalid", [
    "The extrinsic became invalid while it waited for its block, as happens when the runtime is upgraded",
    "none",
    "nextBlock",
  ], "");
}

/** The extrinsic can no longer be in a block: another one used its nonce. */
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
