/** An epoch of a subnet: consensus of each mechanism, averaged, stored and paid. */

import { storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/state.ts";
import { keyOf, type NeuronRecord, type SeatRecord } from "../state/records.ts";
import { type ConsensusInput, type ConsensusOutput, runConsensus } from "./consensus.ts";
import { payOut } from "./emission.ts";
import { type Fixed, fixedOf, u16OfShare } from "./fixed.ts";
import { neuronsOf, uidOf } from "../state/neurons.ts";
import { epochIndexIn } from "./schedule.ts";
import { keepCells, type SparseRow } from "./sparse_rows.ts";

export function runEpoch(scope: BlockScope, netuid: number): void {
  const { state, block } = scope;
  const subnet = state.get("subnet", keyOf(netuid));
  const mechanisms = Array.from({ length: subnet.hyperparameters.mechanisms }, (_, mechanism) => {
    const input = epochInput(scope, netuid, mechanism);
    return { mechanism, input, output: runConsensus(input) };
  });
  const payout = payOut(scope, netuid, mechanisms.map(({ output }) => output));
  for (let uid = 0; uid < subnet.neuronCount; uid++) {
    const first = mechanisms[0];
    const average = (field: "consensus" | "dividends" | "validatorTrust"): number =>
      u16OfShare(averageOf(mechanisms.map(({ output }) => output[field][uid] ?? 0n)));
    state.change("neuron", keyOf(netuid, uid), {
      isActive: first?.input.isActive[uid] ?? false,
      hasPermit: first?.output.permits[uid] ?? false,
      consensus: average("consensus"),
      dividends: average("dividends"),
      validatorTrust: average("validatorTrust"),
      emissionRao: payout.byUid[uid] ?? 0n,
    });
  }
  for (const { mechanism, input, output } of mechanisms) {
    writeMechanism(scope, storageIndex({ netuid, mechanism }), { input, output });
  }
  advanceClock(scope, netuid);
  const { ownerRao, minersRao, validatorsRao, burnedRao, remainderRao } = payout;
  const index = state.get("clock", keyOf(netuid)).epochIndex;
  scope.emit({ type: "epochRan", netuid, index, ownerRao, minersRao, validatorsRao, burnedRao, remainderRao });
  state.change("clock", keyOf(netuid), { lastStepBlock: block });
}

function writeMechanism(
  { state }: BlockScope,
  index: number,
  epoch: { readonly input: EpochInput; readonly output: ConsensusOutput },
): void {
  epoch.output.incentive.forEach((incentive, uid) => {
    const key = keyOf(index, uid);
    state.change("seat", key, { incentive: u16OfShare(incentive) });
    const bonds = epoch.output.bonds[uid] ?? [];
    if (bonds.length > 0) state.write("bonds", key, bonds);
    else if (state.read("bonds", key) !== undefined) state.remove("bonds", key);
  });
}

function advanceClock({ state, block }: BlockScope, netuid: number): void {
  const clock = state.get("clock", keyOf(netuid));
  state.change("clock", keyOf(netuid), {
    lastEpochBlock: block,
    pendingEpochAtBlock: 0,
    epochIndex: clock.epochIndex + 1,
    blocksSinceLastStep: 0,
  });
}

const averageOf = (shares: readonly Fixed[]): Fixed =>
  shares.length === 0 ? 0n : shares.reduce((sum, share) => sum + share, 0n) / BigInt(shares.length);

interface EpochInput extends ConsensusInput {
  readonly isActive: readonly boolean[];
}

function epochInput(scope: BlockScope, netuid: number, mechanism: number): EpochInput {
  const { state, genesis, block } = scope;
  const subnet = state.get("subnet", keyOf(netuid));
  const { hyperparameters } = subnet;
  const index = storageIndex({ netuid, mechanism });
  const neurons = neuronsOf(state, netuid);
  const seats = neurons.map((_, uid) => state.get("seat", keyOf(index, uid)));
  const ownerUid = uidOf(state, netuid, subnet.ownerHotkey);
  const stakes = neurons.map(({ hotkey }) => state.read("stake", keyOf(netuid, hotkey)) ?? 0n);
  const isActive = seats.map((seat) => seat.lastUpdateBlock + hyperparameters.activityCutoffBlocks >= block);
  const hasPermit = neurons.map((neuron, uid) => neuron.hasPermit || uid === ownerUid);
  const commitBlocks = hyperparameters.isCommitReveal ? outstandingCommits(scope, netuid, index) : new Map();
  const rows = (table: "weights" | "bonds"): SparseRow[] =>
    neurons.map((_, uid) =>
      (state.read(table, keyOf(index, uid)) ?? []).filter(([target]) => target < neurons.length)
        .map(([target, value]) => [target, fixedOf(value)] as const)
    );
  return {
    stakeRao: stakes.map((rao, uid) => rao < genesis.stakeThresholdRao && uid !== ownerUid ? 0n : rao),
    isVoting: isActive.map((active, uid) => active && hasPermit[uid] === true),
    isActive,
    weights: keepCells(
      rows("weights"),
      (target, uid) =>
        hasPermit[uid] === true && (target !== uid || uid === ownerUid) &&
        isRowNewer({ seat: seats[uid], neuron: neurons[target], commitBlock: commitBlocks.get(uid) }),
    ),
    bonds: keepCells(
      rows("bonds"),
      (target) => lastTempoBlock(scope, netuid) > (neurons[target]?.registeredAtBlock ?? 0),
    ),
    ownerUid,
    maxValidators: hyperparameters.maxValidators,
    kappa: hyperparameters.kappa,
    bondsPenalty: hyperparameters.bondsPenalty,
    bondsMovingAverage: hyperparameters.bondsMovingAverage,
  };
}

function isRowNewer(of: {
  readonly seat: SeatRecord | undefined;
  readonly neuron: NeuronRecord | undefined;
  readonly commitBlock: number | undefined;
}): boolean {
  if (of.seat === undefined || of.neuron === undefined) return false;
  const { registeredAtBlock } = of.neuron;
  return of.seat.lastUpdateBlock > registeredAtBlock && (of.commitBlock ?? Infinity) >= registeredAtBlock;
}

/** Neurons registered from this block on have no bonds yet. */
function lastTempoBlock({ state, block }: BlockScope, netuid: number): number {
  const { lastStepBlock } = state.get("clock", keyOf(netuid));
  const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
  return lastStepBlock === 0 ? Math.max(0, block - tempoBlocks) : lastStepBlock + 1;
}

/** By uid, the oldest that can still be revealed. */
function outstandingCommits(scope: BlockScope, netuid: number, index: number): Map<number, number> {
  const { state } = scope;
  const oldest = new Map<number, number>();
  const { revealPeriodEpochs } = state.get("subnet", keyOf(netuid)).hyperparameters;
  const firstLiveEpoch = epochIndexIn(scope, netuid) - revealPeriodEpochs;
  const note = (hotkey: string, block: number): void => {
    const uid = uidOf(state, netuid, hotkey);
    if (uid !== null) oldest.set(uid, Math.min(oldest.get(uid) ?? Infinity, block));
  };
  for (const key of state.keys("salted", keyOf(index, ""))) {
    const live = state.get("salted", key).find((commit) => commit.epoch >= firstLiveEpoch);
    if (live !== undefined) note(key.slice(key.indexOf("/") + 1), live.block);
  }
  for (const key of state.keys("timelocked", keyOf(index, ""))) {
    if (Number(key.slice(key.indexOf("/") + 1)) < firstLiveEpoch) continue;
    for (const commit of state.get("timelocked", key)) note(commit.hotkey, commit.block);
  }
  return oldest;
}
