/**
 * The events of a block. As until spec 402, burned, locked and staked tokens are withdrawn and removed stake is
 * deposited: this chain keeps no subnet accounts.
 */

import type { Address } from "../../call.ts";

type TokenEvent =
  | { readonly type: "accountCreated"; readonly account: Address; readonly amountRao: bigint }
  | { readonly type: "transferred"; readonly from: Address; readonly to: Address; readonly amountRao: bigint }
  | { readonly type: "withdrawn"; readonly account: Address; readonly amountRao: bigint }
  | { readonly type: "deposited"; readonly account: Address; readonly amountRao: bigint }
  | { readonly type: "feePaid"; readonly account: Address; readonly amountRao: bigint };

type StakeMove = {
  readonly coldkey: Address;
  readonly hotkey: Address;
  readonly amountRao: bigint; // and as much alpha
  readonly netuid: number;
};

type WeightsOf = {
  readonly netuid: number;
  readonly mechanism: number;
  readonly hotkey: Address;
};

/** Hashes are hex. */
export type SubnetEvent =
  | { readonly type: "neuronRegistered"; readonly netuid: number; readonly uid: number; readonly hotkey: Address }
  | { readonly type: "networkAdded"; readonly netuid: number }
  | { readonly type: "stakeAdded" } & StakeMove
  | { readonly type: "stakeRemoved" } & StakeMove
  | { readonly type: "axonServed"; readonly netuid: number; readonly hotkey: Address }
  | { readonly type: "weightsSet"; readonly netuid: number; readonly mechanism: number; readonly uid: number }
  | { readonly type: "weightsCommitted"; readonly hash: string } & WeightsOf
  | { readonly type: "saltedRevealed"; readonly hash: string } & WeightsOf
  | { readonly type: "timelockedCommitted"; readonly hash: string; readonly revealRound: bigint } & WeightsOf
  | { readonly type: "weightsRevealed" } & WeightsOf;

type OwnEvent =
  | { readonly type: "neuronPruned"; readonly netuid: number; readonly uid: number; readonly hotkey: Address }
  | { readonly type: "weightsDropped"; readonly why: string } & WeightsOf
  | {
    readonly type: "epochRan";
    readonly netuid: number;
    readonly index: number;
    readonly ownerRao: bigint;
    readonly minersRao: bigint;
    readonly validatorsRao: bigint;
    readonly burnedRao: bigint; // incentive of the owner's hotkeys
    readonly remainderRao: bigint;
  };

interface ShieldEvent {
  readonly type: "encryptedSubmitted";
  readonly account: Address;
  readonly id: string; // hash of sender and ciphertext, hex
}

interface CommitmentEvent {
  readonly type: "commitmentSet";
  readonly netuid: number;
  readonly hotkey: Address;
}

export type ChainEvent = TokenEvent | SubnetEvent | ShieldEvent | CommitmentEvent | OwnEvent;
