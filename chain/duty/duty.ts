/**
 * The weight duty's state, events and effects. The state is plain JSON, stored before a step's effects, so a restart
 * sends nothing twice. Keep it private: `saltSeed` gives the salts.
 */

import type { Address, ChainCall } from "../call.ts";
import type { EpochState, Head, Metagraph, PendingCommit, Receipt, Refusal, SubnetParameters } from "../chain.ts";
import type { BeaconClock } from "../timelock/beacon.ts";
import type { StoredRow, WeightsRow } from "../weights/stored_row.ts";

export interface DutyOptions {
  readonly netuid: number;
  readonly mechanism: number;
  readonly hotkey: Address;
  readonly versionKey: string; // u64
  readonly beacon: BeaconClock;
  readonly saltSeed: string; // 32 random bytes as hex
  readonly settleBlocks: number; // a call that is older cannot land
}

export interface Scores {
  readonly round: number;
  readonly block: number; // head when they were made
  readonly byHotkey: Readonly<Record<Address, number>>;
}

export interface ChainView {
  readonly finalizedBlock: number;
  readonly metagraph: Metagraph;
  readonly parameters: SubnetParameters;
  readonly epoch: EpochState;
  readonly row: StoredRow; // empty without a uid
  readonly commits: readonly PendingCommit[];
  readonly calls: CallsSeen | null; // null: not requested
}

export interface BlockRange {
  readonly afterBlock: number;
  readonly toBlock: number;
}

interface CallsSeen {
  readonly range: BlockRange;
  readonly landedBlocks: readonly number[] | null; // null: a block can no longer be read
}

export interface Passage {
  readonly mode: "plain" | "salted" | "timelocked";
  readonly row: WeightsRow;
  readonly versionKey: string;
  readonly scoresRound: number;
  readonly salt: readonly number[];
  readonly nextFiledBlock: number; // from this block on it belongs to the next epoch
  landedBlock: number;
  revealEpoch: number; // for plain rows, the epoch of landing
  isRevealSent: boolean; // salted only
  revealedBlock: number; // 0: not yet
  revealAfterBlock: number; // after a refusal, not before this block
}

export interface Attempt {
  readonly id: number;
  readonly purpose: "set" | "reveal";
  readonly seenBlock: number; // of the read that it follows from
  readonly headBlock: number; // it can land after this block
  readonly epochEndBlock: number;
  readonly passage: Passage;
  isUnknown: boolean;
  searchedBlock: number; // no block up to this one has it
}

export interface Standing {
  readonly level: "good" | "waiting" | "alarm";
  readonly words: string;
  readonly atBlock: number | null; // when that changes
}

export interface DutyState {
  readonly options: DutyOptions;
  scores: Scores | null;
  headBlock: number;
  headSeenMs: number;
  headAtMs: number;
  isSilent: boolean;
  blockMs: number;
  viewBlock: number;
  finalizedBlock: number;
  tempoBlocks: number;
  isReading: boolean;
  lookAtBlock: number;
  attempts: number;
  attempt: Attempt | null;
  readonly passages: Passage[]; // landed, not yet in storage, oldest first
  landedScoresRound: number;
  lastLandedBlock: number;
  lastLandedAfterBlock: number; // an update up to this block was not ours
  openCommits: readonly number[]; // at the newest read
  revealedBlock: number; // this block's update was the chain's reveal; 0: none
  checked: { readonly landedBlock: number; readonly atBlock: number } | null;
  hold: { readonly untilBlock: number; readonly refusal: Refusal } | null;
  standing: Standing;
  alarm: string | null;
  readFailure: string | null;
}

export type DutyEvent =
  | { readonly type: "headSeen"; readonly head: Head }
  | { readonly type: "viewRead"; readonly view: ChainView }
  | { readonly type: "readFailed"; readonly why: string }
  | { readonly type: "scored"; readonly scores: Scores }
  | { readonly type: "answered"; readonly attempt: number; readonly receipt: Receipt }
  | { readonly type: "restarted" } // answers to earlier calls are lost
  | { readonly type: "tick" };

export type DutyEffect =
  | { readonly type: "read"; readonly blocks: BlockRange | null }
  | { readonly type: "send"; readonly attempt: number; readonly call: ChainCall }
  | {
    readonly type: "sealAndSend"; // seals the row until the round, then sends it
    readonly attempt: number;
    readonly row: WeightsRow;
    readonly versionKey: string;
    readonly revealRound: string; // u64
    readonly commitRevealVersion: number;
  }
  | { readonly type: "record"; readonly record: DutyRecord };

export type DutyRecord =
  | {
    readonly type: "sent";
    readonly purpose: "set" | "reveal";
    readonly mode: Passage["mode"];
    readonly weights: number;
  }
  | { readonly type: "landed"; readonly purpose: "set" | "reveal"; readonly block: number }
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "unanswered"; readonly why: string }
  | {
    readonly type: "lost";
    readonly purpose: "set" | "reveal";
    readonly undoneBlock: number | null; // before a fork removed it; null: it was in none
  }
  | { readonly type: "rowChecked"; readonly landedBlock: number }
  | { readonly type: "rowMissing"; readonly landedBlock: number; readonly why: string };

export function openDuty(options: DutyOptions): DutyState {
  return {
    options,
    scores: null,
    headBlock: 0,
    headSeenMs: 0,
    headAtMs: 0,
    isSilent: false,
    blockMs: 12_000,
    viewBlock: 0,
    finalizedBlock: 0,
    tempoBlocks: 0,
    isReading: false,
    lookAtBlock: 0,
    attempts: 0,
    attempt: null,
    passages: [],
    landedScoresRound: -1,
    lastLandedBlock: 0,
    lastLandedAfterBlock: 0,
    openCommits: [],
    revealedBlock: 0,
    checked: null,
    hold: null,
    standing: { level: "waiting", words: "waiting for the first read of the chain", atBlock: null },
    alarm: null,
    readFailure: null,
  };
}
