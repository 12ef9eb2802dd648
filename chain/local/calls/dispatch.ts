/**
 * A call inside a block: the function that executes it, its fee, and its events.
 *
 * The signer pays the fee and uses a nonce even if the call fails; the call itself is atomic.
 */

import { unreachable } from "../../../core/assert.ts";
import type { BlockScope } from "../state/state.ts";
import type { ChainEvent } from "../block/events.ts";
import type { LedgerCall } from "../block/ledger.ts";
import { type AccountKey, addressOf, theChain } from "../state/records.ts";
import { addFree, addStake, removeStake, spendableRao, transfer } from "./balances.ts";
import { type CallError, customCodeOf } from "./call_error.ts";
import { serveAxon, setCommitment } from "./commitments.ts";
import { commitTimelockedWeights, commitWeights, revealWeights } from "./commit_reveal.ts";
import { guardRefusal } from "./guards.ts";
import { burnedRegister, registerNetwork } from "./registration.ts";
import { setWeights } from "./weights.ts";

/** Calls signed by hotkeys are free, because their accounts are empty. */
const paidCalls: readonly LedgerCall["type"][] = [
  ...["burnedRegister", "registerNetwork", "addStake", "removeStake", "transfer", "submitEncrypted"] as const,
];

export const feeRaoOf = ({ genesis }: BlockScope, call: LedgerCall): bigint =>
  paidCalls.includes(call.type) ? genesis.feeRao : 0n;

export const canPay = (scope: BlockScope, from: AccountKey, call: LedgerCall): boolean => {
  const fee = feeRaoOf(scope, call);
  return fee === 0n || spendableRao(scope.state, from) >= fee;
};

export interface Dispatched {
  readonly error: CallError | null;
  readonly events: readonly ChainEvent[];
}

/** Charges the fee, counts the nonce, runs the call. The fee is burned. */
export function dispatch(scope: BlockScope, from: AccountKey, call: LedgerCall): Dispatched {
  const { state } = scope;
  const fee = feeRaoOf(scope, call);
  const account = addressOf(from);
  addFree(state, from, -fee);
  state.change("chain", theChain, { issuanceRao: state.get("chain", theChain).issuanceRao - fee });
  state.change("account", from, { nonce: state.get("account", from).nonce + 1 });
  const guarded = scope.genesis.preChecks === "block" ? guardRefusal(scope, from, call) : null;
  const done: ChainEvent[] = [];
  const error = guarded ??
    state.attempt(() => execute({ ...scope, emit: (event) => done.push(event) }, from, call));
  const charged: ChainEvent[] = fee === 0n ? [] : [{ type: "withdrawn", account, amountRao: fee }];
  return {
    error,
    events: [...charged, ...(error === null ? done : []), { type: "feePaid", account, amountRao: fee }],
  };
}

/** Null: an older runtime's pool accepts the call. Changes nothing. */
export function preCheck(scope: BlockScope, from: AccountKey, call: LedgerCall): number | null {
  const guarded = guardRefusal(scope, from, call);
  if (guarded !== null) return customCodeOf(guarded);
  let custom: number | null = null;
  scope.state.attempt(() => {
    const error = execute(scope, from, call);
    custom = error === null ? null : customCodeOf(error);
    return "onlyTried" as const;
  });
  return custom;
}

function execute(scope: BlockScope, from: AccountKey, call: LedgerCall): CallError | null {
  switch (call.type) {
    case "burnedRegister":
      return burnedRegister(scope, from, call);
    case "registerNetwork":
      return registerNetwork(scope, from, call);
    case "addStake":
      return addStake(scope, from, call);
    case "removeStake":
      return removeStake(scope, from, call);
    case "transfer":
      return transfer(scope, from, call);
    case "serveAxon":
      return serveAxon(scope, from, call);
    case "setCommitment":
      return setCommitment(scope, from, call);
    case "setWeights":
      return setWeights(scope, from, call);
    case "commitWeights":
      return commitWeights(scope, from, call);
    case "revealWeights":
      return revealWeights(scope, from, call);
    case "commitTimelockedWeights":
      return commitTimelockedWeights(scope, from, call);
    case "submitEncrypted":
      scope.emit({ type: "encryptedSubmitted", account: addressOf(from), id: call.id.toHex() });
      return null;
    default:
      return unreachable(call);
  }
}
