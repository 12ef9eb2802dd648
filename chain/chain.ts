/**
 * The chain that the roles see. `chain/local` (embedded) and `chain/subtensor` (any endpoint) share a conformance
 * suite. Every promise settles: waits have deadlines and reject with a `ChainError`. A read is taken at one block.
 */

import type { Address, AxonAddress, ChainCall, ChainSigner, CommitmentField } from "./call.ts";
import type { Beacon } from "./timelock/beacon.ts";

export interface Head {
  readonly block: number;
  readonly seenMs: number;
}

export interface ChainFacts {
  readonly genesisHash: string; // 0x and 64 hex digits
  readonly beacon: Beacon;
}

export interface Neuron {
  readonly uid: number;
  readonly hotkey: Address;
  readonly coldkey: Address;
  readonly isActive: boolean;
  readonly hasPermit: boolean; // granted by an epoch, not by staking
  readonly registeredAtBlock: number;
  readonly lastUpdateBlock: number;
  readonly stakeRao: bigint; // alpha and tao, weighted as by the chain
  readonly incentive: number; // u16
  readonly dividends: number; // u16
  readonly emissionRao: bigint; // by the last epoch, burned amounts included
  readonly axon: AxonAddress | null;
}

export interface Metagraph {
  readonly netuid: number;
  readonly block: number;
  readonly neurons: readonly Neuron[];
}

export interface SubnetParameters {
  readonly block: number;
  readonly tempoBlocks: number;
  readonly minAllowedWeights: number;
  readonly maxWeightsLimit: number; // u16; 65535: no limit
  readonly weightsVersionKey: bigint;
  readonly weightsRateLimitBlocks: number;
  readonly isCommitReveal: boolean;
  readonly commitRevealVersion: number; // 4: timelocked
  readonly revealPeriodEpochs: number;
  readonly mechanisms: number;
  readonly stakeThresholdRao: bigint;
  readonly servingRateLimitBlocks: number;
  readonly activityCutoffBlocks: number;
  readonly immunityPeriodBlocks: number;
  readonly isRegistrationAllowed: boolean;
  readonly registrationCostRao: bigint;
  readonly maxUids: number;
  readonly maxValidators: number;
  readonly ownerHotkey: Address | null;
  readonly ownerColdkey: Address | null; // its hotkeys' incentive is burned
  readonly blockMs: number; // 12,000 on the real chain
  readonly specVersion: number;
  readonly consensus: "yuma" | "null"; // null: only the weights of the validator with the most stake count
}

export type EpochState =
  | {
    readonly formula: "legacy";
    readonly block: number;
    readonly netuid: number;
    readonly tempoBlocks: number;
    readonly blocksSinceLastStep: number;
  }
  | {
    readonly formula: "stateful"; // spec 423 and later
    readonly block: number;
    readonly netuid: number;
    readonly tempoBlocks: number;
    readonly lastEpochBlock: number;
    readonly pendingEpochAtBlock: number; // 0: none
    readonly epochIndex: number;
    readonly blocksSinceLastStep: number;
  };

/** `name` is the chain's error name, or `Custom(12)` from the pool. */
export interface Refusal {
  readonly name: string;
  readonly sentence: string;
  readonly action: string;
  readonly retry: "never" | "nextBlock" | "afterRateLimit" | "afterUpgrade" | "afterEpoch";
}

export type Receipt =
  | {
    readonly status: "included";
    readonly block: number;
    readonly extrinsicHash: string;
    readonly isUnchanged?: true; // the chain already holds this since `block`; the hash is ""
  }
  | { readonly status: "refused"; readonly refusal: Refusal }
  | { readonly status: "unknown"; readonly why: string }; // check the chain before sending again

export interface PendingCommit {
  readonly committedBlock: number;
  readonly revealRound: bigint | null; // drand round, if timelocked
  readonly revealFromBlock: number | null; // if salted
}

export interface WeightCallSearch {
  readonly hotkey: Address;
  readonly mechanism: number;
  readonly afterBlock: number;
  readonly toBlock: number;
}

export interface Commitment {
  readonly hotkey: Address;
  readonly block: number;
  readonly fields: readonly CommitmentField[]; // without unknown kinds
}

export interface Chain {
  readonly endpoint: string;
  readonly netuid: number;
  facts(): Promise<ChainFacts>;
  head(): Promise<Head>;
  /** No fork can undo this block or an earlier one. */
  finalizedBlock(): Promise<number>;
  /** Every new best block, in order, possibly with gaps after an outage. Returns a function that stops. */
  onHead(listener: (head: Head) => void): () => void;
  /** Gets the reason once per outage, and null when the chain is reachable again. Absent: it always is. */
  onOutage?(listener: (problem: string | null) => void): () => void;
  metagraph(): Promise<Metagraph>;
  parameters(): Promise<SubnetParameters>;
  epochState(): Promise<EpochState>;
  /** By uid of the target. */
  weightsOf(options: { uid: number; mechanism: number }): Promise<readonly { uid: number; value: number }[]>;
  pendingCommits(options: { hotkey: Address; mechanism: number }): Promise<readonly PendingCommit[]>;
  /** Blocks in (afterBlock, toBlock] with weights set or committed, oldest first. Null if one can no longer be read. */
  weightCallsOf(options: WeightCallSearch): Promise<readonly number[] | null>;
  /** Without hotkeys that published nothing. */
  commitmentsOf(hotkeys: readonly Address[]): Promise<readonly Commitment[]>;
  balanceOf(address: Address): Promise<bigint>; // free, rao
  /** Staked by anyone. Null if that block's state can no longer be read. */
  alphaOf(of: { hotkey: Address; block: number }): Promise<bigint | null>;
  /**
   * Settles when the call is in a block, is refused, or its outcome is unknown; rejects only if nothing was sent. Sends
   * of one account are serialised.
   */
  send(call: ChainCall, signer: ChainSigner): Promise<Receipt>;
  close(): Promise<void>;
}

/** 6 minutes. Short, because a validator killed during a call must wait this long before the next one. */
export const callLifeBlocks = 32;

export class ChainError extends Error {
  override readonly name = "ChainError";
  constructor(
    readonly code: "unreachable" | "timeout" | "badAnswer" | "notRegistered" | "closed",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
