/**
 * A minimal model of a subnet, for tests of the weight duty: epochs by both formulas, checks of set_weights in the chain's
 * order, salted and timelocked commits, registrations. Written from the chain's description, not from the code under test.
 *
 * No signatures and no bytes: calls are values, a timelocked row is kept open beside its round.
 */

import type { ChainCall } from "../../../chain/call.ts";
import type { EpochState, Metagraph, Neuron, SubnetParameters } from "../../../chain/chain.ts";
import type { BlockRange, ChainView, DutyEffect } from "../../../chain/duty/duty.ts";
import type { WeightsRow } from "../../../chain/weights/stored_row.ts";
import { saltedCommitHash } from "../../../chain/weights/salted_commit.ts";
import { decodeAddress } from "../../../chain/wallet/ss58.ts";

export const modelBlockMs = 12_000;
export const modelBeacon = { genesisMs: 0, periodMs: 3_000 };
export const modelNetuid = 9;

export type ModelCall = ChainCall | Extract<DutyEffect, { type: "sealAndSend" }>;

interface ModelCommit {
  readonly hotkey: string;
  readonly epoch: number;
  readonly block: number;
  readonly hash: string | null; // salted
  readonly sealed: { readonly row: WeightsRow; readonly versionKey: bigint; readonly round: bigint } | null;
}

export interface ModelOptions {
  readonly formula: "legacy" | "stateful";
  readonly tempoBlocks: number;
  readonly hotkeys: readonly string[]; // by uid; the first is the validator
}

export class ModelChain {
  block = 1_000;
  finalityLagBlocks = 0;
  epochIndex = 40;
  lastEpochBlock = 1_000;
  pendingEpochAtBlock = 0;
  blocksSinceLastStep = 0;
  epochsRun = 0;
  neurons: Neuron[];
  rows = new Map<number, { uid: number; value: number }[]>();
  commits: ModelCommit[] = [];
  readonly calls: { readonly hotkey: string; readonly block: number }[] = []; // that set or committed weights
  parameters: SubnetParameters;

  constructor(readonly options: ModelOptions) {
    this.neurons = options.hotkeys.map((hotkey, uid) => ({
      ...{ uid, hotkey, coldkey: hotkey, isActive: true, hasPermit: uid === 0, registeredAtBlock: 500 },
      ...{ lastUpdateBlock: 500, stakeRao: uid === 0 ? 5_000_000_000n : 0n, incentive: 0, dividends: 0 },
      ...{ emissionRao: 0n, axon: null },
    }));
    this.parameters = {
      ...{ block: 0, tempoBlocks: options.tempoBlocks, minAllowedWeights: 1, maxWeightsLimit: 65_535 },
      ...{ weightsVersionKey: 3n, weightsRateLimitBlocks: 5, isCommitReveal: false, commitRevealVersion: 4 },
      ...{ revealPeriodEpochs: 1, mechanisms: 1, stakeThresholdRao: 1_000_000_000n, servingRateLimitBlocks: 50 },
      ...{ activityCutoffBlocks: 5_000, immunityPeriodBlocks: 100, isRegistrationAllowed: true },
      ...{ registrationCostRao: 1n, maxUids: 256, maxValidators: 64, ownerHotkey: null, ownerColdkey: null },
      ...{ blockMs: modelBlockMs, specVersion: 459, consensus: "yuma" },
    };
  }

  get timeMs(): number {
    return 1_700_000_000_000 + this.block * modelBlockMs;
  }

  change(changes: Partial<SubnetParameters>): void {
    this.parameters = { ...this.parameters, ...changes };
  }

  /** One block without its calls: reveals, then the epoch. True when an epoch ran. */
  advance(): boolean {
    this.block += 1;
    this.blocksSinceLastStep += 1;
    const isDue = this.#isEpochDue();
    this.#reveal(this.#index() + (this.options.formula === "stateful" && isDue ? 1 : 0));
    if (!isDue) return false;
    this.epochIndex += 1;
    this.epochsRun += 1;
    this.lastEpochBlock = this.block;
    this.pendingEpochAtBlock = 0;
    this.blocksSinceLastStep = 0;
    return true;
  }

  #isEpochDue(): boolean {
    const { tempoBlocks } = this.parameters;
    if (this.options.formula === "legacy") {
      return tempoBlocks - ((this.block + modelNetuid + 1) % (tempoBlocks + 1)) === 0;
    }
    const isAsked = this.pendingEpochAtBlock > 0 && this.block >= this.pendingEpochAtBlock;
    return isAsked || this.block - this.lastEpochBlock >= tempoBlocks;
  }

  #index(): number {
    if (this.options.formula === "stateful") return this.epochIndex;
    return Math.floor((this.block + modelNetuid + 1) / (this.parameters.tempoBlocks + 1));
  }

  #reveal(index: number): void {
    const target = index - this.parameters.revealPeriodEpochs;
    this.commits = this.commits.filter((commit) => {
      if (commit.epoch < target) return false; // expired
      if (commit.sealed === null || commit.epoch !== target) return true;
      const publishedMs = modelBeacon.genesisMs + Number(commit.sealed.round - 1n) * modelBeacon.periodMs;
      if (publishedMs > this.timeMs) return true; // its pulse is not on the chain: the next block tries again
      const neuron = this.neurons.find(({ hotkey }) => hotkey === commit.hotkey);
      if (neuron !== undefined) this.#store(neuron.uid, commit.sealed.row);
      const isStamped = neuron !== undefined && !this.parameters.isCommitReveal;
      if (isStamped) this.neurons[neuron.uid] = { ...neuron, lastUpdateBlock: this.block };
      return false;
    });
  }

  #store(uid: number, row: WeightsRow): void {
    const top = Math.max(...row.values);
    this.rows.set(
      uid,
      row.uids.map((target, i) => ({ uid: target, value: Math.round(row.values[i]! * 65_535 / top) })),
    );
  }

  /** Executes a call of this hotkey in the current block. Null: done; otherwise the chain's name of the error. */
  execute(hotkey: string, call: ModelCall): string | null {
    const neuron = this.neurons.find((each) => each.hotkey === hotkey);
    if (neuron === undefined) return "HotKeyNotRegisteredInSubNet";
    if (call.type === "revealWeights") return this.#executeReveal(neuron, call);
    const limit = this.parameters.weightsRateLimitBlocks;
    const isTooFast = neuron.lastUpdateBlock !== 0 && this.block - neuron.lastUpdateBlock < limit;
    if (call.type === "setWeights") {
      if (this.parameters.isCommitReveal) return "CommitRevealEnabled";
      const error = this.#rowError(neuron, call, call.versionKey, isTooFast);
      if (error !== null) return error;
      this.#store(neuron.uid, call);
    } else if (call.type === "commitWeights" || call.type === "sealAndSend") {
      if (!this.parameters.isCommitReveal) return "CommitRevealDisabled";
      if (neuron.stakeRao < this.parameters.stakeThresholdRao) return "NotEnoughStakeToSetWeights";
      if (isTooFast) return "CommittingWeightsTooFast";
      if (this.commits.filter((commit) => commit.hotkey === hotkey).length >= 10) return "TooManyUnrevealedCommits";
      const sealed = call.type === "commitWeights"
        ? null
        : { row: call.row, versionKey: BigInt(call.versionKey), round: BigInt(call.revealRound) };
      const hash = call.type === "commitWeights" ? call.hash.toHex() : null;
      const isFiledEarly = this.options.formula === "legacy" && sealed !== null && this.#isEpochDue();
      this.commits.push({ hotkey, epoch: this.#index() + (isFiledEarly ? 1 : 0), block: this.block, hash, sealed });
    } else {
      return "CallFiltered";
    }
    this.neurons[neuron.uid] = { ...neuron, lastUpdateBlock: this.block };
    this.calls.push({ hotkey, block: this.block });
    return null;
  }

  #executeReveal(neuron: Neuron, call: Extract<ChainCall, { type: "revealWeights" }>): string | null {
    const publicKey = decodeAddress(neuron.hotkey)!;
    const hash = saltedCommitHash({ ...call, publicKey, row: call }).toHex();
    const commit = this.commits.find((each) => each.hotkey === neuron.hotkey && each.hash === hash);
    if (commit === undefined) return "InvalidRevealCommitHashNotMatch";
    if (this.#index() < commit.epoch + this.parameters.revealPeriodEpochs) return "RevealTooEarly";
    if (this.#index() > commit.epoch + this.parameters.revealPeriodEpochs) return "ExpiredWeightCommit";
    const error = this.#rowError(neuron, call, call.versionKey, false);
    if (error !== null) return error;
    this.commits = this.commits.filter((each) => each !== commit);
    this.#store(neuron.uid, call);
    return null;
  }

  #rowError(neuron: Neuron, row: WeightsRow, versionKey: bigint, isTooFast: boolean): string | null {
    const { parameters } = this;
    if (row.uids.length !== row.values.length) return "WeightVecNotEqualSize";
    if (row.uids.length > this.neurons.length) return "UidsLengthExceedUidsInSubNet";
    if (neuron.stakeRao < parameters.stakeThresholdRao) return "NotEnoughStakeToSetWeights";
    if (parameters.weightsVersionKey > 0n && versionKey < parameters.weightsVersionKey) {
      return "IncorrectWeightVersionKey";
    }
    if (isTooFast) return "SettingWeightsTooFast";
    if (!neuron.hasPermit) return "NeuronNoValidatorPermit";
    if (new Set(row.uids).size < row.uids.length) return "DuplicateUids";
    if (row.uids.some((uid) => this.neurons[uid] === undefined)) return "UidVecContainInvalidOne";
    if (row.uids.length < parameters.minAllowedWeights) return "WeightVecLengthIsLow";
    return null;
  }

  /** A newcomer takes the uid. */
  replace(uid: number, hotkey: string): void {
    const block = this.block;
    this.neurons[uid] = { ...this.neurons[uid]!, hotkey, registeredAtBlock: block, lastUpdateBlock: block };
    this.rows.delete(uid);
  }

  metagraph(): Metagraph {
    return { netuid: modelNetuid, block: this.block, neurons: [...this.neurons] };
  }

  epoch(): EpochState {
    const { tempoBlocks } = this.parameters;
    const shared = {
      ...{ netuid: modelNetuid, block: this.block, tempoBlocks, blocksSinceLastStep: this.blocksSinceLastStep },
    };
    if (this.options.formula === "legacy") return { formula: "legacy", ...shared };
    const { lastEpochBlock, pendingEpochAtBlock, epochIndex } = this;
    return { formula: "stateful", ...shared, lastEpochBlock, pendingEpochAtBlock, epochIndex };
  }

  view(hotkey: string, blocks: BlockRange | null = null): ChainView {
    const own = this.neurons.find((neuron) => neuron.hotkey === hotkey);
    return {
      finalizedBlock: this.block - this.finalityLagBlocks,
      metagraph: this.metagraph(),
      parameters: { ...this.parameters, block: this.block },
      epoch: this.epoch(),
      row: own === undefined ? [] : this.rows.get(own.uid) ?? [],
      commits: this.commits.filter((commit) => commit.hotkey === hotkey).map(({ block, sealed }) => ({
        committedBlock: block,
        revealRound: sealed?.round ?? null,
        revealFromBlock: null,
      })),
      calls: blocks && {
        range: blocks,
        landedBlocks: this.calls.filter((call) =>
          call.hotkey === hotkey && call.block > blocks.afterBlock && call.block <= blocks.toBlock
        ).map(({ block }) => block),
      },
    };
  }
}
