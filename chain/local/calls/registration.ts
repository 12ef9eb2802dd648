/**
 * Registering neurons and creating subnets. A registration's price is burned; it rises with each and halves with time.
 * A subnet's price is locked; it doubles with each and falls linearly.
 */

import type { ChainCall } from "../../call.ts";
import { seatFor, seatNeuron, uidOf } from "../state/neurons.ts";
import { type AccountKey, accountOf, addressOf, keyOf, theChain } from "../state/records.ts";
import type { BlockScope, StateReader } from "../state/state.ts";
import { addFree, spendableRao } from "./balances.ts";
import type { CallError } from "./call_error.ts";

export function burnedRegister(
  scope: BlockScope,
  coldkey: AccountKey,
  call: Extract<ChainCall, { type: "burnedRegister" }>,
): CallError | null {
  const { state } = scope;
  const { netuid } = call;
  const hotkey = accountOf(call.hotkey);
  if (netuid === 0) return "RegistrationNotPermittedOnRootSubnet";
  const subnet = state.read("subnet", keyOf(netuid));
  if (subnet === undefined) return "SubnetNotExists";
  const { burnRao } = state.get("clock", keyOf(netuid));
  if (call.limitRao !== undefined && burnRao > call.limitRao) return "RegistrationPriceLimitExceeded";
  if (!subnet.hyperparameters.isRegistrationAllowed) return "SubNetRegistrationDisabled";
  if (uidOf(state, netuid, hotkey) !== null) return "HotKeyAlreadyRegisteredInSubNet";
  if (spendableRao(state, coldkey) < burnRao) return "NotEnoughBalanceToStake";
  if (!claimHotkey(scope, { coldkey, hotkey })) return "NonAssociatedColdKey";
  const uid = seatFor(scope, netuid);
  if (uid === null) return "NoNeuronIdAvailable";
  addFree(state, coldkey, -burnRao);
  state.change("chain", theChain, { issuanceRao: state.get("chain", theChain).issuanceRao - burnRao });
  scope.emit({ type: "withdrawn", account: addressOf(coldkey), amountRao: burnRao });
  seatNeuron(scope, { netuid, hotkey, uid });
  const { minBurnRao, maxBurnRao, burnIncreasePercent } = subnet.hyperparameters;
  const raised = burnRao * BigInt(100 + burnIncreasePercent) / 100n;
  state.change("clock", keyOf(netuid), { burnRao: clamped(raised, { min: minBurnRao, max: maxBurnRao }) });
  scope.emit({ type: "neuronRegistered", netuid, uid, hotkey: call.hotkey });
  return null;
}

export function decayBurn({ state }: BlockScope, netuid: number): void {
  const { burnHalfLifeBlocks, minBurnRao, maxBurnRao } = state.get("subnet", keyOf(netuid)).hyperparameters;
  const { burnRao } = state.get("clock", keyOf(netuid));
  const factor = burnHalfLifeBlocks === 0 ? 2 ** 32 : Math.floor(2 ** 32 * 2 ** (-1 / burnHalfLifeBlocks));
  const decayed = (burnRao * BigInt(factor)) >> 32n;
  state.change("clock", keyOf(netuid), { burnRao: clamped(decayed, { min: minBurnRao, max: maxBurnRao }) });
}

export function registerNetwork(
  scope: BlockScope,
  coldkey: AccountKey,
  call: Extract<ChainCall, { type: "registerNetwork" }>,
): CallError | null {
  const { state, genesis, block } = scope;
  const hotkey = accountOf(call.hotkey);
  const chain = state.get("chain", theChain);
  const isRecent = chain.lastLockBlock > 0 && block - chain.lastLockBlock < genesis.networkRateLimitBlocks;
  if (isRecent) return "NetworkTxRateLimitExceeded";
  if (!claimHotkey(scope, { coldkey, hotkey })) return "NonAssociatedColdKey";
  if (chain.netuids.length >= genesis.maxSubnets) return "SubnetLimitReached";
  const lockRao = networkCostRao(scope);
  if (spendableRao(state, coldkey) < lockRao) return "CannotAffordLockCost";
  let netuid = 1;
  while (chain.netuids.includes(netuid)) netuid++;
  addFree(state, coldkey, -lockRao);
  scope.emit({ type: "withdrawn", account: addressOf(coldkey), amountRao: lockRao });
  state.change("chain", theChain, { lastLockRao: lockRao, lastLockBlock: block });
  addSubnet(scope, { netuid, coldkey, hotkey, lockRao, hyperparameters: genesis.newSubnet });
  return null;
}

export function networkCostRao({ state, genesis, block }: {
  readonly state: StateReader;
  readonly genesis: BlockScope["genesis"];
  readonly block: number;
}): bigint {
  const { lastLockRao, lastLockBlock } = state.get("chain", theChain);
  const fallenRao = lastLockRao * BigInt(block - lastLockBlock) / BigInt(genesis.networkLockReductionBlocks);
  const asked = lastLockRao * (lastLockBlock === 0 ? 1n : 2n) - fallenRao;
  return asked > genesis.networkMinLockRao ? asked : genesis.networkMinLockRao;
}

export function addSubnet(scope: BlockScope, of: {
  readonly netuid: number;
  readonly coldkey: AccountKey;
  readonly hotkey: AccountKey;
  readonly lockRao: bigint;
  readonly hyperparameters: BlockScope["genesis"]["newSubnet"];
}): void {
  const { state, block } = scope;
  const { netuid, coldkey, hotkey, lockRao, hyperparameters } = of;
  const { netuids } = state.get("chain", theChain);
  state.change("chain", theChain, { netuids: [...netuids, netuid].sort((a, b) => a - b) });
  state.write("subnet", keyOf(netuid), {
    ...{ ownerColdkey: coldkey, ownerHotkey: hotkey, registeredAtBlock: block, lockedRao: lockRao },
    ...{ neuronCount: 0, hyperparameters },
  });
  state.write("clock", keyOf(netuid), {
    ...{ lastEpochBlock: block, pendingEpochAtBlock: 0, epochIndex: 0, blocksSinceLastStep: 0, lastStepBlock: 0 },
    burnRao: hyperparameters.firstBurnRao,
  });
  state.write("pots", keyOf(netuid), { ownerRao: 0n, minersRao: 0n, validatorsRao: 0n });
  seatNeuron(scope, { netuid, hotkey, uid: 0 });
  scope.emit({ type: "networkAdded", netuid });
}

/** The coldkey of a new hotkey owns it from now on. */
export function claimHotkey({ state }: BlockScope, pair: { coldkey: AccountKey; hotkey: AccountKey }): boolean {
  const owner = state.read("hotkey", pair.hotkey)?.coldkey;
  if (owner === undefined) state.write("hotkey", pair.hotkey, { coldkey: pair.coldkey });
  return owner === undefined || owner === pair.coldkey;
}

const clamped = (rao: bigint, bounds: { readonly min: bigint; readonly max: bigint }): bigint =>
  rao < bounds.min ? bounds.min : rao > bounds.max ? bounds.max : rao;
