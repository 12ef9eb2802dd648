/** A call inside a block. It is atomic, but the signer pays and uses a nonce even if it fails. */

import { unreachable } from "../../../core/assert.ts";
import type { BlockScope } from "../state/state.ts";
import type { ChainEvent } from "../block/events.ts";
import type { LedgerCall } from "../block/ledger.ts";
import { type AccountKey, addressOf, keyOf, theChain } from "../state/records.ts";
import { addFree, addStake, removeStake, spendableRao, transfer } from "./balances.ts";
import { type CallError, customCodeOf } from "./call_error.ts";
import { serveAxon, setCommitment } from "./commitments.ts";
import { commitHash, commitTimelockedWeights, commitWeights, revealWeights } from "./commit_reveal.ts";
import { burnedRegister, registerNetwork } from "./registration.ts";
import { isInTime, missingMechanism, setWeights } from "./weights.ts";
import type { ChainCall } from "../../call.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { epochIndexIn } from "../epoch/schedule.ts";
import { uidOf } from "../state/neurons.ts";

/** Hotkeys' accounts are empty. */
const paidCalls: readonly LedgerCall["type"][] = [
  ...["burnedRegister", "registerNetwork", "addStake", "removeStake", "transfer", "submitEncrypted"] as const,
];

export const isPaid = ({ type }: LedgerCall): boolean => paidCalls.includes(type);

const feeRaoOf = ({ genesis }: BlockScope, call: LedgerCall): bigint => isPaid(call) ? genesis.feeRao : 0n;

export const canPay = (scope: BlockScope, from: AccountKey, call: LedgerCall): boolean => {
  const fee = feeRaoOf(scope, call);
  return fee === 0n || spendableRao(scope.state, from) >= fee;
};

export interface Dispatched {
  readonly error: CallError | null;
  readonly events: readonly ChainEvent[];
}

/** The fee is burned. */
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

/** Null: accepted. Changes nothing. */
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

type Reveal = Extract<ChainCall, { type: "revealWeights" }>;

function guardRefusal(scope: BlockScope, hotkey: AccountKey, call: LedgerCall): CallError | null {
  switch (call.type) {
    case "setWeights": {
      const isDirect = scope.state.read("subnet", keyOf(call.netuid))?.hyperparameters.isCommitReveal === false;
      return stakeRefusal(scope, hotkey, call.netuid) ??
        (isDirect ? paceRefusal(scope, { hotkey, call, error: "SettingWeightsTooFast" }) : null);
    }
    case "commitWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ??
        paceRefusal(scope, { hotkey, call, error: "CommittingWeightsTooFast" });
    case "commitTimelockedWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ??
        (call.revealRound < scope.lastRound ? "InvalidRevealRound" : null) ??
        paceRefusal(scope, { hotkey, call, error: "CommittingWeightsTooFast" });
    case "revealWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ?? revealRefusal(scope, hotkey, call);
    default:
      return null;
  }
}

function stakeRefusal({ state, genesis }: BlockScope, hotkey: AccountKey, netuid: number): CallError | null {
  const stake = state.read("stake", keyOf(netuid, hotkey)) ?? 0n;
  return stake < genesis.stakeThresholdRao ? "NotEnoughStakeToSetWeights" : null;
}

/** Null for what the call itself reports: no registration or mechanism. */
function paceRefusal(scope: BlockScope, of: {
  readonly hotkey: AccountKey;
  readonly call: { readonly netuid: number; readonly mechanism: number };
  readonly error: CallError;
}): CallError | null {
  const { netuid, mechanism } = of.call;
  const uid = uidOf(scope.state, netuid, of.hotkey);
  if (uid === null || missingMechanism(scope, of.call) !== null) return null;
  return isInTime(scope, { netuid, mechanism, uid }) ? null : of.error;
}

function revealRefusal(scope: BlockScope, hotkey: AccountKey, call: Reveal): CallError | null {
  if (missingMechanism(scope, call) !== null) return "NoWeightsCommitFound";
  const hash = commitHash(hotkey, call);
  const commit = scope.state.read("salted", keyOf(storageIndex(call), hotkey))?.find((each) => each.hash === hash);
  if (commit === undefined) return "NoWeightsCommitFound";
  const { revealPeriodEpochs } = scope.state.get("subnet", keyOf(call.netuid)).hyperparameters;
  return epochIndexIn(scope, call.netuid) === commit.epoch + revealPeriodEpochs ? null : "RevealTooEarly";
}
