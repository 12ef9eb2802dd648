/**
 * The runtime's storage by name, such as `SubtensorModule.Tempo` with `[9]` (spec 393; epoch clock since 423). Absent
 * items read as their default; absent optional or unlisted ones give undefined.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { ipOfText } from "../../ip_address.ts";
import type { Hyperparameters } from "../block/genesis.ts";
import { neuronsOf, uidOf } from "../state/neurons.ts";
import {
  type AxonRecord,
  type ClockRecord,
  keyOf,
  type NeuronRecord,
  type SeatRecord,
  theChain,
} from "../state/records.ts";
import type { StateReader } from "../state/state.ts";
import { registrationOf } from "./commitments.ts";
import type { ReadableChain } from "./readable_chain.ts";

type Reader = (ledger: ReadableChain, keys: readonly unknown[]) => unknown;

export function storageItem(ledger: ReadableChain, name: string, keys: readonly unknown[]): unknown {
  const reader = items[name] ?? (ledger.genesis.epochs === "stateful" ? statefulItems[name] : undefined);
  return reader?.(ledger, keys);
}

const mechanismStride = 4_096; // index = mechanism * stride + netuid
const number = (key: unknown): number => Number(key);
const hexOf = (key: unknown): string => key instanceof Uint8Array ? key.toHex() : String(key);
export const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
const noAccount = new Uint8Array(32);

/** The fallback is for missing subnets. */
const parameter = (read: (parameters: Hyperparameters) => unknown): Reader => ({ state, genesis }, [netuid]) =>
  read(state.read("subnet", keyOf(number(netuid)))?.hyperparameters ?? genesis.newSubnet);

const clock = (read: (clock: ClockRecord) => unknown, fallback: unknown): Reader => ({ state }, [netuid]) => {
  const record = state.read("clock", keyOf(number(netuid)));
  return record === undefined ? fallback : read(record);
};

const perNeuron = (read: (neuron: NeuronRecord) => unknown): Reader => ({ state }, [netuid]) =>
  isSubnet(state, number(netuid)) ? neuronsOf(state, number(netuid)).map(read) : [];

const perSeat = (read: (seat: SeatRecord) => unknown): Reader => ({ state }, [index]) => {
  const netuid = number(index) % mechanismStride;
  if (!isSubnet(state, netuid)) return [];
  return neuronsOf(state, netuid).flatMap((_, uid) => {
    const seat = state.read("seat", keyOf(number(index), uid));
    return seat === undefined ? [] : [read(seat)];
  });
};

/** Only owners can stake here, so these are also the staking hotkeys. */
const hotkeysOf = (state: StateReader, coldkey: string): string[] =>
  state.keys("hotkey").filter((hotkey) => state.get("hotkey", hotkey).coldkey === coldkey).sort();

const isSubnet = (state: StateReader, netuid: number): boolean => state.read("subnet", keyOf(netuid)) !== undefined;

const row = (table: "weights" | "bonds"): Reader => ({ state }, [index, uid]) =>
  state.read(table, keyOf(number(index), number(uid))) ?? [];

const neuronAt: (state: StateReader, keys: readonly unknown[]) => NeuronRecord | undefined = (state, [netuid, uid]) =>
  state.read("neuron", keyOf(number(netuid), number(uid)));

export function axonInfo(axon: AxonRecord | null) {
  const ip = axon === null ? null : ipOfText(axon.ip);
  return {
    block: BigInt(axon?.block ?? 0),
    version: axon?.version ?? 0,
    ip: ip?.bits ?? 0n,
    port: axon?.port ?? 0,
    ipType: ip?.version ?? 0,
    protocol: axon?.protocol ?? 0,
    placeholder1: 0,
    placeholder2: 0,
  };
}

/** Since spec 423: epoch and block of the commit; before: blocks of commit and reveal. */
const saltedCommits: Reader = ({ state, genesis }, [index, account]) => {
  const commits = state.read("salted", keyOf(number(index), hexOf(account)));
  if (commits === undefined || genesis.epochs === "stateful") {
    return commits?.map(({ hash, epoch, block }) => [bytesOf(hash), BigInt(epoch), BigInt(block), 0n]);
  }
  const netuid = number(index) % mechanismStride;
  const { tempoBlocks, revealPeriodEpochs } = state.get("subnet", keyOf(netuid)).hyperparameters;
  return commits.map(({ hash, epoch, block }) => {
    const first = (epoch + revealPeriodEpochs) * (tempoBlocks + 1) - netuid - 1;
    return [bytesOf(hash), BigInt(block), BigInt(first), BigInt(first + tempoBlocks)];
  });
};

const zeros: Reader = perNeuron(() => 0);

const items: Readonly<Record<string, Reader>> = {
  "System.Account": ({ state }, [account]) => {
    const record = state.read("account", hexOf(account));
    if (record === undefined) return undefined;
    const data = { free: record.freeRao, reserved: 0n, frozen: 0n, flags: 1n << 127n };
    return { nonce: record.nonce, consumers: 0, providers: 1, sufficients: 0, data };
  },
  "System.Number": (ledger) => ledger.head().number,
  "System.BlockHash": (ledger, [block]) => ledger.blockHash(number(block)) ?? undefined,
  "Timestamp.Now": (ledger) => BigInt(ledger.head().timestampMs),
  "Balances.TotalIssuance": ({ state }) => state.get("chain", theChain).issuanceRao,
  "Drand.LastStoredRound": (ledger) => ledger.beacon.lastRound(ledger.head().timestampMs),
  "Drand.Pulses": (ledger, [key]) => {
    const round = BigInt(String(key));
    if (round < 1n || round > ledger.beacon.lastRound(ledger.head().timestampMs)) return undefined;
    const signature = ledger.beacon.pulse(round);
    return { round, randomness: sha256(signature), signature };
  },
  "Drand.BeaconConfig": ({ beacon: { beacon } }) => ({
    ...{
      publicKey: beacon.publicKey,
      period: beacon.periodMs / 1000,
      genesisTime: Math.floor(beacon.genesisMs / 1000),
    },
    ...{ hash: new Uint8Array(), groupHash: new Uint8Array() },
    ...{ schemeId: new TextEncoder().encode("bls-unchained-g1-rfc9380"), metadata: { beaconId: new Uint8Array() } },
  }),
  "Commitments.CommitmentOf": ({ state }, [netuid, account]) => {
    const record = state.read("commitment", keyOf(number(netuid), hexOf(account)));
    return record === undefined ? undefined : registrationOf(record);
  },
  "Commitments.LastCommitment": ({ state }, [netuid, account]) =>
    state.read("commitment", keyOf(number(netuid), hexOf(account)))?.block,
  "Commitments.UsedSpaceOf": ({ state }, [netuid, account]) => {
    const space = state.read("commitmentSpace", keyOf(number(netuid), hexOf(account)));
    return space === undefined ? undefined : { lastEpoch: BigInt(space.epoch), usedSpace: BigInt(space.usedBytes) };
  },
  "SubtensorModule.TotalIssuance": ({ state }) => state.get("chain", theChain).issuanceRao,
  "SubtensorModule.TotalNetworks": ({ state }) => state.get("chain", theChain).netuids.length,
  "SubtensorModule.NetworksAdded": ({ state }, [netuid]) => isSubnet(state, number(netuid)),
  "SubtensorModule.NetworkRegisteredAt": ({ state }, [netuid]) =>
    BigInt(state.read("subnet", keyOf(number(netuid)))?.registeredAtBlock ?? 0),
  "SubtensorModule.Owner": ({ state }, [hotkey]) => {
    const coldkey = state.read("hotkey", hexOf(hotkey))?.coldkey;
    return coldkey === undefined ? noAccount : bytesOf(coldkey);
  },
  "SubtensorModule.OwnedHotkeys": ({ state }, [coldkey]) => hotkeysOf(state, hexOf(coldkey)).map(bytesOf),
  "SubtensorModule.StakingHotkeys": ({ state }, [coldkey]) => {
    const { netuids } = state.get("chain", theChain);
    const isStaked = (hotkey: string) =>
      netuids.some((netuid) => state.read("stake", keyOf(netuid, hotkey)) !== undefined);
    return hotkeysOf(state, hexOf(coldkey)).filter(isStaked).map(bytesOf);
  },
  "SubtensorModule.SubnetLocked": ({ state }, [netuid]) => state.read("subnet", keyOf(number(netuid)))?.lockedRao ?? 0n,
  "SubtensorModule.SubnetOwner": ({ state }, [netuid]) => {
    const subnet = state.read("subnet", keyOf(number(netuid)));
    return subnet === undefined ? noAccount : bytesOf(subnet.ownerColdkey);
  },
  "SubtensorModule.SubnetOwnerHotkey": ({ state }, [netuid]) => {
    const subnet = state.read("subnet", keyOf(number(netuid)));
    return subnet === undefined ? undefined : bytesOf(subnet.ownerHotkey);
  },
  "SubtensorModule.SubnetworkN": ({ state }, [netuid]) => state.read("subnet", keyOf(number(netuid)))?.neuronCount ?? 0,
  "SubtensorModule.Uids": ({ state }, [netuid, hotkey]) => uidOf(state, number(netuid), hexOf(hotkey)) ?? undefined,
  "SubtensorModule.Keys": ({ state }, keys) => {
    const neuron = neuronAt(state, keys);
    return neuron === undefined ? noAccount : bytesOf(neuron.hotkey);
  },
  "SubtensorModule.BlockAtRegistration": ({ state }, keys) => BigInt(neuronAt(state, keys)?.registeredAtBlock ?? 0),
  "SubtensorModule.IsNetworkMember": ({ state }, [hotkey, netuid]) =>
    uidOf(state, number(netuid), hexOf(hotkey)) !== null,
  "SubtensorModule.Axons": ({ state }, [netuid, hotkey]) => {
    const uid = uidOf(state, number(netuid), hexOf(hotkey));
    const axon = uid === null ? null : state.get("neuron", keyOf(number(netuid), uid)).axon;
    return axon === null ? undefined : axonInfo(axon);
  },
  "SubtensorModule.TotalHotkeyAlpha": ({ state }, [hotkey, netuid]) =>
    state.read("stake", keyOf(number(netuid), hexOf(hotkey))) ?? 0n,
  "SubtensorModule.Weights": row("weights"),
  "SubtensorModule.Bonds": row("bonds"),
  "SubtensorModule.LastUpdate": perSeat((seat) => BigInt(seat.lastUpdateBlock)),
  "SubtensorModule.Incentive": perSeat((seat) => seat.incentive),
  "SubtensorModule.Active": perNeuron((neuron) => neuron.isActive),
  "SubtensorModule.ValidatorPermit": perNeuron((neuron) => neuron.hasPermit),
  "SubtensorModule.Consensus": perNeuron((neuron) => neuron.consensus),
  "SubtensorModule.Dividends": perNeuron((neuron) => neuron.dividends),
  "SubtensorModule.ValidatorTrust": perNeuron((neuron) => neuron.validatorTrust),
  "SubtensorModule.Emission": perNeuron((neuron) => neuron.emissionRao),
  "SubtensorModule.Rank": zeros, // not filled since 2025
  "SubtensorModule.Trust": zeros,
  "SubtensorModule.PruningScores": zeros,
  "SubtensorModule.WeightCommits": saltedCommits,
  "SubtensorModule.TimelockedWeightCommits": ({ state }, [index, epoch]) =>
    (state.read("timelocked", keyOf(number(index), number(epoch))) ?? [])
      .map(({ hotkey, block, commit, round }) => [bytesOf(hotkey), BigInt(block), bytesOf(commit), round]),
  "SubtensorModule.Tempo": parameter((of) => of.tempoBlocks),
  "SubtensorModule.MaxWeightsLimit": parameter((of) => of.maxWeightsLimit),
  "SubtensorModule.MinAllowedWeights": parameter((of) => of.minAllowedWeights),
  "SubtensorModule.WeightsVersionKey": parameter((of) => of.weightsVersionKey),
  "SubtensorModule.WeightsSetRateLimit": parameter((of) => BigInt(of.weightsRateLimitBlocks)),
  "SubtensorModule.CommitRevealWeightsEnabled": parameter((of) => of.isCommitReveal),
  "SubtensorModule.RevealPeriodEpochs": parameter((of) => BigInt(of.revealPeriodEpochs)),
  "SubtensorModule.MechanismCountCurrent": parameter((of) => of.mechanisms),
  "SubtensorModule.ServingRateLimit": parameter((of) => BigInt(of.servingRateLimitBlocks)),
  "SubtensorModule.ActivityCutoff": parameter((of) => of.activityCutoffBlocks),
  "SubtensorModule.ImmunityPeriod": parameter((of) => of.immunityPeriodBlocks),
  "SubtensorModule.NetworkRegistrationAllowed": parameter((of) => of.isRegistrationAllowed),
  "SubtensorModule.SubtokenEnabled": parameter((of) => of.isStarted !== false),
  "SubtensorModule.MaxAllowedUids": parameter((of) => of.maxUids),
  "SubtensorModule.MaxAllowedValidators": parameter((of) => of.maxValidators),
  "SubtensorModule.MinBurn": parameter((of) => of.minBurnRao),
  "SubtensorModule.MaxBurn": parameter((of) => of.maxBurnRao),
  "SubtensorModule.Kappa": parameter((of) => of.kappa),
  "SubtensorModule.BondsMovingAverage": parameter((of) => BigInt(of.bondsMovingAverage)),
  "SubtensorModule.BondsPenalty": parameter((of) => of.bondsPenalty),
  "SubtensorModule.StakeThreshold": ({ genesis }) => genesis.stakeThresholdRao,
  "SubtensorModule.CommitRevealWeightsVersion": ({ genesis }) => genesis.commitRevealVersion,
  "SubtensorModule.NetworkRateLimit": ({ genesis }) => BigInt(genesis.networkRateLimitBlocks),
  "SubtensorModule.Burn": clock((of) => of.burnRao, 0n),
  "SubtensorModule.BlocksSinceLastStep": clock((of) => BigInt(of.blocksSinceLastStep), 0n),
  "SubtensorModule.LastMechansimStepBlock": clock((of) => BigInt(of.lastStepBlock), 0n), // [sic]
};

const statefulItems: Readonly<Record<string, Reader>> = {
  "SubtensorModule.LastEpochBlock": clock((of) => BigInt(of.lastEpochBlock), 0n),
  "SubtensorModule.PendingEpochAt": clock((of) => BigInt(of.pendingEpochAtBlock), 0n),
  "SubtensorModule.SubnetEpochIndex": clock((of) => BigInt(of.epochIndex), 0n),
  "SubtensorModule.CollateralLockShare": () => 0,
  "SubtensorModule.SubnetEpochConsensus": () => ({ type: "Yuma" }),
  // thousandths of a tempo, rounded up to read back exactly
  "SubtensorModule.ActivityCutoffFactorMilli": parameter((of) =>
    of.tempoBlocks === 0 ? 0 : Math.ceil(of.activityCutoffBlocks * 1_000 / of.tempoBlocks)
  ),
};
