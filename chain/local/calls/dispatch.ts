/**
 * A call inside a block: which function carries it out, and what it costs.
 *
 * The signer pays the fee and uses up a nonce whatever comes of the call; the call itself changes everything it should, or nothing.
 */

import { unreachable } from "../../../core/assert.ts";
import type { ChainCall } from "../../call.ts";
import type { BlockScope } from "../block_scope.ts";
import { type AccountKey, theChain } from "../state/records.ts";
import { addFree, addStake, removeStake, spendableRao, transfer } from "./balances.ts";
import { type CallError, customCodeOf } from "./call_error.ts";
import { setCommitment } from "./commitments.ts";
import { commitTimelockedWeights, commitWeights, revealWeights } from "./commit_reveal.ts";
import { guardRefusal } from "./guards.ts";
import { burnedRegister, registerNetwork } from "./registration.ts";
import { serveAxon } from "./serving.ts";
import { setWeights } from "./weights.ts";

/** What hotkeys sign is free: their accounts are empty. */
const paidCalls: readonly ChainCall["type"][] = [
  ...["burnedRegister", "registerNetwork", "addStake", "removeStake", "transfer"] as const,
];

export const feeRaoOf = ({ genesis }: BlockScope, call: ChainCall): bigint =>
  paidCalls.includes(call.type) ? genesis.feeRao : 0n;

export const canPay = (scope: BlockScope, from: AccountKey, call: ChainCall): boolean => {
  const fee = feeRaoOf(scope, call);
  return fee === 0n || spendableRao(scope.state, from) >= fee;
};

/** Charges the fee, counts the nonce, runs the call. The fee is burned. */
export function dispatch(scope: BlockScope, from: AccountKey, call: ChainCall): CallError | null {
  const { state } = scope;
  const fee = feeRaoOf(scope, call);
  addFree(state, from, -fee);
  state.change("chain", theChain, { issuanceRao: state.get("chain", theChain).issuanceRao - fee });
  state.change("account", from, { nonce: state.get("account", from).nonce + 1 });
  const guarded = scope.genesis.preChecks === "block" ? guardRefusal(scope, from, call) : null;
  return guarded ?? state.attempt(() => execute(scope, from, call));
}

/** The custom code with which an older runtime's pool refuses a call; null: it lets it through. Nothing is changed. */
export function preCheck(scope: BlockScope, from: AccountKey, call: ChainCall): number | null {
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

/** The call alone. */
function execute(scope: BlockScope, from: AccountKey, call: ChainCall): CallError | null {
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
    default:
      return unreachable(call);
  }
}
