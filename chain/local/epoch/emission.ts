/**
 * Where new tokens go: into a subnet's pots with every block, out of them at its epoch. 18 % are the owner's; miners
 * and validators share the rest equally.
 *
 * Rounding and unpayable amounts go to the chain's remainder, so the issuance stays the sum of all holdings
 * (`heldRao`). The incentive of the owner's hotkeys is burned.
 */

import { keyOf, theChain } from "../state/records.ts";
import type { BlockScope, State, StateReader } from "../state/state.ts";
import { type Fixed, partOf, sumOf } from "./fixed.ts";

const ownerPercent = 18n;

export function emitBlock({ state }: BlockScope, netuid: number): void {
  const emission = state.get("subnet", keyOf(netuid)).hyperparameters.emissionPerBlockRao;
  const owner = emission * ownerPercent / 100n;
  const miners = (emission - owner) / 2n;
  const pots = state.get("pots", keyOf(netuid));
  state.write("pots", keyOf(netuid), {
    ownerRao: pots.ownerRao + owner,
    minersRao: pots.minersRao + miners,
    validatorsRao: pots.validatorsRao + emission - owner - miners,
  });
  state.change("chain", theChain, { issuanceRao: state.get("chain", theChain).issuanceRao + emission });
}

interface MechanismShares {
  readonly incentive: readonly Fixed[];
  readonly validatorShares: readonly Fixed[];
}

interface Payout {
  readonly byUid: readonly bigint[]; // burned amounts included
  readonly minersRao: bigint;
  readonly validatorsRao: bigint;
  readonly ownerRao: bigint;
  readonly burnedRao: bigint;
  readonly remainderRao: bigint;
}

/** Mechanisms get equal parts. Without earning miners, validators get a mechanism's part. */
export function payOut({ state }: BlockScope, netuid: number, mechanisms: readonly MechanismShares[]): Payout {
  const subnet = state.get("subnet", keyOf(netuid));
  const pots = state.get("pots", keyOf(netuid));
  const count = BigInt(mechanisms.length);
  const byUid: bigint[] = new Array(subnet.neuronCount).fill(0n);
  let minersRao = 0n, validatorsRao = 0n, burnedRao = 0n;
  for (const { incentive, validatorShares } of mechanisms) {
    const hasMiners = sumOf(incentive) > 0n;
    const miners = pots.minersRao / count, validators = pots.validatorsRao / count + (hasMiners ? 0n : miners);
    for (let uid = 0; uid < subnet.neuronCount; uid++) {
      const { hotkey } = state.get("neuron", keyOf(netuid, uid));
      const earned = partOf(miners, incentive[uid] ?? 0n), dividend = partOf(validators, validatorShares[uid] ?? 0n);
      const isOwners = state.get("hotkey", hotkey).coldkey === subnet.ownerColdkey;
      burnedRao += isOwners ? earned : 0n;
      minersRao += isOwners ? 0n : earned;
      validatorsRao += dividend;
      addStake(state, { netuid, hotkey, rao: dividend + (isOwners ? 0n : earned) });
      byUid[uid] = (byUid[uid] ?? 0n) + earned + dividend;
    }
  }
  addStake(state, { netuid, hotkey: subnet.ownerHotkey, rao: pots.ownerRao });
  const remainderRao = pots.minersRao + pots.validatorsRao - minersRao - validatorsRao - burnedRao;
  state.write("pots", keyOf(netuid), { ownerRao: 0n, minersRao: 0n, validatorsRao: 0n });
  const chain = state.get("chain", theChain);
  state.change("chain", theChain, {
    issuanceRao: chain.issuanceRao - burnedRao,
    remainderRao: chain.remainderRao + remainderRao,
  });
  return { byUid, minersRao, validatorsRao, ownerRao: pots.ownerRao, burnedRao, remainderRao };
}

function addStake(state: State, to: { readonly netuid: number; readonly hotkey: string; readonly rao: bigint }): void {
  if (to.rao === 0n) return;
  const key = keyOf(to.netuid, to.hotkey);
  state.write("stake", key, (state.read("stake", key) ?? 0n) + to.rao);
}

export function heldRao(state: StateReader): bigint {
  let held = state.get("chain", theChain).remainderRao;
  for (const key of state.keys("account")) held += state.get("account", key).freeRao;
  for (const key of state.keys("stake")) held += state.get("stake", key);
  for (const key of state.keys("subnet")) held += state.get("subnet", key).lockedRao;
  for (const key of state.keys("pots")) {
    const { ownerRao, minersRao, validatorsRao } = state.get("pots", key);
    held += ownerRao + minersRao + validatorsRao;
  }
  return held;
}
