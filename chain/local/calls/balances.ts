/**
 * Transfers and staking. Stake is worth what was paid for it and belongs to the hotkey's coldkey. An account holds at
 * least the existential deposit, or nothing.
 */

import { assert } from "../../../core/assert.ts";
import type { ChainCall } from "../../call.ts";
import { type AccountKey, accountOf, addressOf, keyOf } from "../state/records.ts";
import type { BlockScope, State, StateReader } from "../state/state.ts";
import type { CallError } from "./call_error.ts";

const existentialDepositRao = 500n;
const minStakeRao = 2_000_000n;

const freeRaoOf = (state: StateReader, account: AccountKey): bigint => state.read("account", account)?.freeRao ?? 0n;

export const spendableRao = (state: StateReader, account: AccountKey): bigint => {
  const spendable = freeRaoOf(state, account) - existentialDepositRao;
  return spendable > 0n ? spendable : 0n;
};

/** The caller has checked the balance. */
export function addFree(state: State, account: AccountKey, rao: bigint): void {
  const { freeRao, nonce } = state.read("account", account) ?? { freeRao: 0n, nonce: 0 };
  state.write("account", account, { freeRao: freeRao + rao, nonce });
}

export function transfer(
  { state, emit }: BlockScope,
  from: AccountKey,
  call: Extract<ChainCall, { type: "transfer" }>,
): CallError | null {
  assert(
    call.amountRao >= 0n,
    `Cannot transfer as the amount must not be negative: current value is ${call.amountRao}`,
  );
  const to = accountOf(call.to);
  if (spendableRao(state, from) < call.amountRao) return "FundsUnavailable";
  if (freeRaoOf(state, to) + call.amountRao < existentialDepositRao) return "BelowMinimum";
  const isNew = freeRaoOf(state, to) === 0n && call.amountRao > 0n;
  addFree(state, from, -call.amountRao);
  addFree(state, to, call.amountRao);
  if (isNew) emit({ type: "accountCreated", account: call.to, amountRao: call.amountRao });
  if (from !== to) emit({ type: "transferred", from: addressOf(from), to: call.to, amountRao: call.amountRao });
  return null;
}

function missingMarket(state: State, netuid: number): CallError | null {
  const subnet = state.read("subnet", keyOf(netuid));
  if (subnet === undefined) return "SubnetNotExists";
  return subnet.hyperparameters.isStarted === false ? "SubtokenDisabled" : null;
}

export function addStake(
  { state, emit }: BlockScope,
  coldkey: AccountKey,
  call: Extract<ChainCall, { type: "addStake" }>,
): CallError | null {
  const hotkey = accountOf(call.hotkey);
  const missing = missingMarket(state, call.netuid);
  if (missing !== null) return missing;
  if (call.amountRao < minStakeRao) return "AmountTooLow";
  if (spendableRao(state, coldkey) < call.amountRao) return "NotEnoughBalanceToStake";
  const owner = state.read("hotkey", hotkey)?.coldkey;
  if (owner === undefined) return "HotKeyAccountNotExists";
  if (owner !== coldkey) return "NonAssociatedColdKey"; // a nomination on the real chain
  const key = keyOf(call.netuid, hotkey);
  addFree(state, coldkey, -call.amountRao);
  state.write("stake", key, (state.read("stake", key) ?? 0n) + call.amountRao);
  const { netuid, amountRao } = call, account = addressOf(coldkey);
  emit({ type: "withdrawn", account, amountRao });
  emit({ type: "stakeAdded", coldkey: account, hotkey: call.hotkey, amountRao, netuid });
  return null;
}

export function removeStake(
  { state, emit }: BlockScope,
  coldkey: AccountKey,
  call: Extract<ChainCall, { type: "removeStake" }>,
): CallError | null {
  const hotkey = accountOf(call.hotkey);
  const missing = missingMarket(state, call.netuid);
  if (missing !== null) return missing;
  const owner = state.read("hotkey", hotkey)?.coldkey;
  if (owner === undefined) return "HotKeyAccountNotExists";
  const key = keyOf(call.netuid, hotkey);
  const staked = owner === coldkey ? state.read("stake", key) ?? 0n : 0n;
  if (staked < call.amountAlpha) return "NotEnoughStakeToWithdraw";
  if (call.amountAlpha < minStakeRao && call.amountAlpha < staked) return "AmountTooLow";
  if (staked === call.amountAlpha) state.remove("stake", key);
  else state.write("stake", key, staked - call.amountAlpha);
  addFree(state, coldkey, call.amountAlpha);
  const { netuid, amountAlpha: amountRao } = call, account = addressOf(coldkey);
  emit({ type: "deposited", account, amountRao });
  emit({ type: "stakeRemoved", coldkey: account, hotkey: call.hotkey, amountRao, netuid });
  return null;
}
