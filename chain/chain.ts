/**
 * What the roles need of a chain. Two implementations behind one conformance suite: `chain/local` (embedded, in this process)
 * and `chain/subtensor` (any Subtensor endpoint over JSON-RPC).
 *
 * Every promise settles: an implementation puts a deadline on whatever it waits for and rejects with a `ChainError`. Reads are taken
 * at one block each and name it. Refuses: secrets (a `ChainSigner` signs) and policy (chain/duty decides what to send when).
 */

import type { Address, AxonAddress, ChainCall, ChainSigner, CommitmentField } from "./call.ts";
import type { Beacon } from "./timelock/beacon.ts";

export interface Head {
  readonly block: number;
  readonly seenMs: number; // wall clock of this machine when the block was seen
}

/** What never changes about a chain. */
export interface ChainFacts {
  readonly genesisHash: string; // 0x and 64 hex digits: tells chains apart
  readonly beacon: Beacon; // whose rounds it reveals by
}

export interface Neuron {
  readonly uid: number;
  readonly hotkey: Address;
  readonly coldkey: Address;
  readonly isActive: boolean;
  readonly hasPermit: boolean; // validator permit: given by an epoch, not by staking
  readonly registeredAtBlock: number;
  readonly lastUpdateBlock: number; // last weights set or committed
  readonly stakeRao: bigint; // total: alpha and tao as the chain weighs them
  readonly incentive: number; // u16
  readonly dividends: number; // u16
  readonly emissionRao: bigint; // of the last epoch
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
  readonly blockMs: number; // 12,000 on the real chain
  readonly specVersion: number;
}

/** How the chain decides that an epoch is due: chain/epochs computes with it. */
export type EpochState =
  | {
    readonly formula: "legacy";
    readonly block: number;
    readonly netuid: number;
    readonly tempoBlocks: number;
    readonly blocksSinceLastStep: number; // the last epoch ran so many blocks ago, under whichever tempo was in force then
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

/** Why the chain said no, or would. `name` is the chain's own word, or `Custom(12)` of the pool. */
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
    readonly isUnchanged?: true; // nothing was sent: the chain has held this since `block`, and the hash is ""
  }
  | { readonly status: "refused"; readonly refusal: Refusal } // before or inside a block; nothing was changed
  | { readonly status: "unknown"; readonly why: string }; // the answer was lost: look at the chain before sending again

/** Weights of a hotkey that wait to be revealed. */
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

/** What a hotkey published about itself in the subnet: bytes of a stranger. */
export interface Commitment {
  readonly hotkey: Address;
  readonly block: number; // it was set in
  readonly fields: readonly CommitmentField[]; // those of kinds that nobody knows are left out
}

export interface Chain {
  readonly endpoint: string; // "local" or the address in use, for people
  readonly netuid: number;
  facts(): Promise<ChainFacts>;
  head(): Promise<Head>;
  /** Calls `listener` for every new best block, in order, gaps possible after an outage. Returns the way to stop. */
  onHead(listener: (head: Head) => void): () => void;
  /** Hears why the chain cannot be reached, once per outage, and null when it can again. Absent: it always can. */
  onOutage?(listener: (problem: string | null) => void): () => void;
  metagraph(): Promise<Metagraph>;
  parameters(): Promise<SubnetParameters>;
  epochState(): Promise<EpochState>;
  /** The weights row as the chain stores it, sparse, by uid of the target. */
  weightsOf(options: { uid: number; mechanism: number }): Promise<readonly { uid: number; value: number }[]>;
  pendingCommits(options: { hotkey: Address; mechanism: number }): Promise<readonly PendingCommit[]>;
  /**
   * The blocks above `afterBlock` and up to `toBlock` in which a call of this hotkey set or committed weights, oldest first, read
   * from the blocks themselves. Null when one of them can no longer be read.
   */
  weightCallsOf(options: WeightCallSearch): Promise<readonly number[] | null>;
  /** Those of these hotkeys that have published something, in this order. */
  commitmentsOf(hotkeys: readonly Address[]): Promise<readonly Commitment[]>;
  balanceOf(address: Address): Promise<bigint>; // free, rao
  /** Signs, sends, and waits until the call is in a block, refused, or its fate cannot be learnt; rejects only when nothing was sent. Sends of one account are serialised. */
  send(call: ChainCall, signer: ChainSigner): Promise<Receipt>;
  close(): Promise<void>;
}

/**
 * A call is signed for so many blocks, 6 minutes on the real chain: one that is in none of them can no longer land. Short, as a
 * validator that was killed with a call under way sends no other before; it then still has time in its window.
 */
export const callLifeBlocks = 32;

/** The chain could not be asked: no endpoint answers, a deadline passed, an answer makes no sense. */
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
