/** Further answers for Bittensor's SDK. One alpha is one tao; pools are empty. */

import type { AccountId } from "../block/ledger.ts";
import { keyOf, theChain } from "../state/records.ts";
import { metagraph } from "./metagraph_answer.ts";
import type { ReadableChain } from "./readable_chain.ts";

export function subnetState(chain: ReadableChain, netuid: number) {
  const all = metagraph(chain, netuid);
  return all === null ? null : { ...all, emissionHistory: [] };
}

export function dynamicInfo(chain: ReadableChain, netuid: number) {
  const all = metagraph(chain, netuid);
  if (all === null) return null;
  const { name, symbol, identity, subnetEmission, ...rest } = all;
  return { ...rest, subnetName: name, tokenSymbol: symbol, emission: subnetEmission, subnetIdentity: identity };
}

export function subnetInfo(chain: ReadableChain, netuid: number) {
  const all = metagraph(chain, netuid);
  if (all === null) return null;
  const { hyperparameters } = chain.state.get("subnet", keyOf(netuid));
  return {
    ...all,
    maxAllowedValidators: hyperparameters.maxValidators,
    subnetworkN: all.numUids,
    maxAllowedUids: all.maxUids,
    blocksSinceLastStep: all.blocksSinceLastStep,
    owner: all.ownerColdkey,
  };
}

export function allDynamicInfo(chain: ReadableChain) {
  return netuidsOf(chain).map((netuid) => dynamicInfo(chain, netuid));
}

export function alphaPrices(chain: ReadableChain) {
  return netuidsOf(chain).map((netuid) => ({ netuid, price: alphaPriceRao }));
}

export const alphaPriceRao = 1_000_000_000n;

export const swapped = (amount: bigint) => ({
  ...{ taoAmount: amount, alphaAmount: amount },
  ...{ taoFee: 0n, alphaFee: 0n, taoSlippage: 0n, alphaSlippage: 0n },
});

export function stakesOf(chain: ReadableChain, coldkey: AccountId) {
  return netuidsOf(chain).flatMap((netuid) => {
    const { hotkeys, coldkeys } = metagraph(chain, netuid)!;
    return hotkeys.filter((_, uid) => coldkeys[uid]!.toHex() === coldkey.toHex())
      .map((hotkey) => stakeOf(chain, { hotkey, coldkey, netuid }));
  });
}

interface StakePlace {
  readonly hotkey: AccountId;
  readonly coldkey: AccountId;
  readonly netuid: number;
}

/** Only owners can stake here. */
export function stakeOf({ state }: ReadableChain, { hotkey, coldkey, netuid }: StakePlace) {
  const isOwner = state.read("hotkey", hotkey.toHex())?.coldkey === coldkey.toHex();
  return {
    ...{ hotkey, coldkey, netuid },
    stake: isOwner ? state.read("stake", keyOf(netuid, hotkey.toHex())) ?? 0n : 0n,
    ...{ locked: 0n, emission: 0n, taoEmission: 0n, drain: 0n },
    isRegistered: state.read("uid", keyOf(netuid, hotkey.toHex())) !== undefined,
  };
}

export function netuidsOf({ state }: ReadableChain): readonly number[] {
  return state.get("chain", theChain).netuids;
}

export function neuronAnswers(chain: ReadableChain, netuid: number) {
  const all = metagraph(chain, netuid);
  if (all === null) return [];
  return all.hotkeys.map((hotkey, uid) => ({
    hotkey,
    coldkey: all.coldkeys[uid],
    uid,
    netuid,
    active: all.active[uid],
    axonInfo: all.axons[uid],
    prometheusInfo: { block: 0n, version: 0, ip: 0n, port: 0, ipType: 0 },
    stake: [[all.coldkeys[uid], all.totalStake[uid]]],
    rank: 0,
    emission: all.emission[uid],
    incentive: all.incentives[uid],
    consensus: all.consensus[uid],
    trust: 0,
    validatorTrust: chain.state.get("neuron", keyOf(netuid, uid)).validatorTrust,
    dividends: all.dividends[uid],
    lastUpdate: all.lastUpdate[uid],
    validatorPermit: all.validatorPermit[uid],
    weights: chain.state.read("weights", keyOf(netuid, uid)) ?? [],
    bonds: chain.state.read("bonds", keyOf(netuid, uid)) ?? [],
    pruningScore: 0,
  }));
}
