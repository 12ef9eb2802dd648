/**
 * The chain interface that the roles need. `chain/local` (embedded) and `chain/subtensor` (any Subtensor endpoint
 * over JSON-RPC) share one conformance suite.
 *
 * Every promise settles: an implementation puts a deadline on every wait and rejects with a `ChainError`. Each read
 * is taken at one block and names it.
 */

import type { Address, AxonAddress, ChainCall, ChainSigner, CommitmentField } from "./call.ts";
import type { Beacon } from "./timelock/beacon.ts";

export interface Head {
  readonly block: number;
  readonly seenMs: number; // wall clock of this machine when the block was seen
}

export interface ChainFacts {
  readonly genesisHash: string; // 0x and 64 hex digits: identifies the chain
  readonly beacon: Beacon; // whose rounds decide its reveals
}

export interface Neuron {
  readonly uid: number;
  readonly hotkey: Address;
  readonly coldkey: Address;
  readonly isActive: boolean;
  readonly hasPermit: boolean; // validator permit: granted by an epoch, not by staking
  readonly registeredAtBlock: number;
  readonly lastUpdateBlock: number; // last weights set or committed
  readonly stakeRao: bigint; // total of alpha and tao, weighted as by the chain
  readonly incentive: number; // u16
  readonly dividends: number; // u16
  readonly emissionRao: bigint; // allotted by the last epoch, also where it was burned (duty/epoch_pay.ts)
  readonly axon: AxonAddress | null;
}

export interface Metagraph {
  readonly netuid: number;
  readonly block: number;
  readonly neurons: readonly Neuron[]; // by uid
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
  readonly ownerColdkey: Address | null; // incentive of its hotkeys is burned
  readonly blockMs: number; // 12,000 on the real chain
  readonly specVersion: number;
  readonly consensus: "yuma" | "null"; // null: only the weights of the validator with the most stake count
}

/** The state from which the chain, and chain/epochs, computes when an epoch is due. */
export type EpochState =
  | {
    readonly formula: "legacy";
    readonly block: number;
    readonly netuid: number;
    readonly tempoBlocks: number;
    readonly blocksSinceLastStep: number; // blocks since the last epoch, under whatever tempo applied then
  }
  | {
    readonly formula: "stateful"; // spec 423 and later
    readonly block: number;
    readonly netuid: number;
    readonly tempoBlocks: number;
    readonly lastEpochBlock: number;
    readonly pendingEpochAtBlock: number; // 0: none
    readonly epochIndex: number; // SubnetEpochIndex
    readonly blocksSinceLastStep: number;
  };

/** Why the chain refused a call or would refuse it. `name` is the chain's error name, or `Custom(12)` from the pool. */
export interface Refusal {
  readonly name: string;
  readonly sentence: string; // what it means, for a person
  readonly action: string; // what to do about it
  readonly retry: "never" | "nextBlock" | "afterRateLimit" | "afterUpgrade" | "afterEpoch";
}

export type Receipt =
  | {
    readonly status: "included";
    readonly block: number;
    readonly extrinsicHash: string;
    readonly isUnchanged?: true; // nothing was sent: the chain already holds this since `block`, and the hash is ""
  }
  | { readonly status: "refused"; readonly refusal: Refusal } // before or inside a block; nothing was changed
  | { readonly status: "unknown"; readonly why: string }; // the answer was lost: check the chain before sending again

export interface PendingCommit {
  readonly committedBlock: number;
  readonly revealRound: bigint | null; // drand round of a timelocked one
  readonly revealFromBlock: number | null; // of a salted one
}

export interface WeightCallSearch {
  readonly hotkey: Address;
  readonly mechanism: number;
  readonly afterBlock: number;
  readonly toBlock: number;
}

export interface Commitment {
  readonly hotkey: Address;
  readonly block: number; // in which it was set
  readonly fields: readonly CommitmentField[]; // without fields of unknown kinds
}

export interface Chain {
  readonly endpoint: string; // "local" or the address in use, for people
  readonly netuid: number;
  facts(): Promise<ChainFacts>;
  head(): Promise<Head>;
  /** The newest final block: no fork can undo it or an earlier one. */
  finalizedBlock(): Promise<number>;
  /** Every new best block, in order, possibly with gaps after an outage. Returns a function that stops. */
  onHead(listener: (head: Head) => void): () => void;
  /**
   * With the reason when the chain becomes unreachable, once per outage, and with null when it is reachable again.
   * Absent: it always is.
   */
  onOutage?(listener: (problem: string | null) => void): () => void;
  metagraph(): Promise<Metagraph>;
  parameters(): Promise<SubnetParameters>;
  epochState(): Promise<EpochState>;
  /** Sparse, as the chain stores it, by uid of the target. */
  weightsOf(options: { uid: number; mechanism: number }): Promise<readonly { uid: number; value: number }[]>;
  pendingCommits(options: { hotkey: Address; mechanism: number }): Promise<readonly PendingCommit[]>;
  /**
   * The blocks above `afterBlock` and up to `toBlock` in which a call of this hotkey set or committed weights, oldest
   * first, read from the blocks themselves. Null if one of them can no longer be read.
   */
  weightCallsOf(options: WeightCallSearch): Promise<readonly number[] | null>;
  /** In this order, without those that published nothing. */
  commitmentsOf(hotkeys: readonly Address[]): Promise<readonly Commitment[]>;
  balanceOf(address: Address): Promise<bigint>; // free, rao
  /** The subnet's alpha staked to a hotkey after a block, by anyone. Null if that block's state can no longer be read. */
  alphaOf(of: { hotkey: Address; block: number }): Promise<bigint | null>;
  /**
   * Signs, sends, and waits until the call is in a block, is refused, or its outcome cannot be determined; rejects only
   * if nothing was sent. Sends of one account are serialised.
   */
  send(call: ChainCall, signer: ChainSigner): Promise<Receipt>;
  close(): Promise<void>;
}

/**
 * A call is valid for this many blocks, 6 minutes on the real chain; if it is in none of them it can no longer land.
 * Short, because a validator killed with a call under way must wait that long before it sends another, and should still
 * have time in its window.
 */
export const callLifeBlocks = 32;

/** No endpoint answers, a deadline passed, or an answer is invalid. */
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
