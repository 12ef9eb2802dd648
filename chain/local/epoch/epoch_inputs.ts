/**
 * Which stake, weights and bonds count in an epoch: builds the consensus input from the state, masked as in the runtime.
 *
 * Only weights of validators with a permit count, never for oneself (except the subnet's owner), and only for neurons
 * registered before the row was last changed. Under commit-reveal a row with a commit outstanding does not count for
 * neurons registered after that commit. Bonds to neurons registered since the last epoch are dropped.
 */

import { storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/block_scope.ts";
import { neuronsOf, uidOf } from "../state/neurons.ts";
import { keyOf, type NeuronRecord, type SeatRecord } from "../state/records.ts";
import type { ConsensusInput } from "./consensus.ts";
import { fixedOf } from "./fixed.ts";
import { epochIndexIn } from "./schedule.ts";
import { keepCells, type SparseRow } from "./sparse_rows.ts";

/** An epoch's input, and what the chain stores of it. */
export interface EpochInput extends ConsensusInput {
  readonly isActive: readonly boolean[];
}

export function epochInput(scope: BlockScope, netuid: number, mechanism: number): EpochInput {
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

/** The first block after the previous epoch; neurons registered from then on have no bonds yet. */
function lastTempoBlock({ state, block }: BlockScope, netuid: number): number {
  const { lastStepBlock } = state.get("clock", keyOf(netuid));
  const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
  return lastStepBlock === 0 ? Math.max(0, block - tempoBlocks) : lastStepBlock + 1;
}

/** By uid: the block of its oldest commit that can still be revealed. */
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
