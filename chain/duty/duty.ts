/**
 * The types of the weight duty: its state, events and effects.
 *
 * The state is plain JSON. The caller stores it before performing any effect of a step, so a restart resumes and
 * nothing is sent twice. It holds `saltSeed`, from which salts are derived: keep it as private as a key.
 */

import type { Address, ChainCall } from "../call.ts";
import type { EpochState, Head, Metagraph, PendingCommit, Receipt, Refusal, SubnetParameters } from "../chain.ts";
import type { BeaconClock } from "../timelock/beacon.ts";
import type { StoredRow, WeightsRow } from "../weights/stored_row.ts";

export interface DutyOptions {
  readonly netuid: number;
  readonly mechanism: number;
  readonly hotkey: Address;
  readonly versionKey: string; // u64 in decimal: sent with our weights
  readonly beacon: BeaconClock; // whose rounds decide the chain's reveals
  readonly saltSeed: string; // 32 random bytes as hex, drawn once
  readonly settleBlocks: number; // the era of a call: an unanswered one cannot land later than this
}

/** Scores by hotkey, computed from the orchestrator's reports. */
export interface Scores {
  readonly round: number; // of the run
  readonly block: number; // the chain's head when they were made
  readonly byHotkey: Readonly<Record<Address, number>>;
}

/** Its parts may be some blocks apart; each names its block. */
export interface ChainView {
  readonly finalizedBlock: number; // no fork can undo blocks up to this one
  readonly metagraph: Metagraph;
  readonly parameters: SubnetParameters;
  readonly epoch: EpochState;
  readonly row: StoredRow; // ours as stored; empty when we have no uid
  readonly commits: readonly PendingCommit[]; // ours
  readonly calls: CallsSeen | null; // null: no blocks were requested
}

/** To search for our own calls. */
export interface BlockRange {
  readonly afterBlock: number;
  readonly toBlock: number;
}

interface CallsSeen {
  readonly range: BlockRange;
  readonly landedBlocks: readonly number[] | null; // blocks with a successful call of ours; null: a block can no longer be read
}

export interface Passage {
  readonly mode: "plain" | "salted" | "timelocked";
  readonly row: WeightsRow;
  readonly versionKey: string;
  readonly scoresRound: number;
  readonly salt: readonly number[]; // empty unless salted
  readonly nextFiledBlock: number; // from this block on the chain files it under the next epoch
  landedBlock: number; // 0: not yet known
  revealEpoch: number; // epoch index of the reveal; for plain rows, of landing
  isRevealSent: boolean; // salted: our own second call has landed
  revealedBlock: number; // in which it landed; 0: not yet
  revealAfterBlock: number; // after a refusal: not again before this block
}

export interface Attempt {
  readonly id: number;
  readonly purpose: "set" | "reveal";
  readonly seenBlock: number; // of the read it was decided on: newer changes are its effect
  readonly headBlock: number; // it can land in the blocks after this
  readonly epochEndBlock: number; // the next epoch runs in this block
  readonly passage: Passage;
  isUnknown: boolean; // no answer arrived: only the chain knows
  searchedBlock: number; // not in any block up to this one, according to the blocks themselves
}

export interface Standing {
  readonly level: "good" | "waiting" | "alarm";
  readonly words: string;
  readonly atBlock: number | null; // when that changes; shown as "in 37 blocks (7 min)"
}

export interface DutyState {
  readonly options: DutyOptions;
  scores: Scores | null;
  headBlock: number; // 0: none seen
  headSeenMs: number; // wall clock
  headAtMs: number; // the machine's clock
  isSilent: boolean; // no head for a long time
  blockMs: number;
  viewBlock: number; // of the newest read
  finalizedBlock: number; // as last read
  tempoBlocks: number; // as last read; 0: not yet
  isReading: boolean;
  lookAtBlock: number;
  attempts: number;
  attempt: Attempt | null;
  readonly passages: Passage[]; // landed, not yet seen in storage; oldest first
  landedScoresRound: number; // the newest scores whose row has landed; -1: none
  lastLandedBlock: number;
  lastLandedAfterBlock: number; // the previous read: an update up to here was not ours
  openCommits: readonly number[]; // blocks of our timelocked commits that the chain had at the newest read
  revealedBlock: number; // an update in this block was the chain's reveal, not a call; 0: none
  checked: { readonly landedBlock: number; readonly atBlock: number } | null;
  hold: { readonly untilBlock: number; readonly refusal: Refusal } | null;
  standing: Standing;
  alarm: string | null; // about the newest row that failed
  readFailure: string | null;
}

export type DutyEvent =
  | { readonly type: "headSeen"; readonly head: Head }
  | { readonly type: "viewRead"; readonly view: ChainView }
  | { readonly type: "readFailed"; readonly why: string }
  | { readonly type: "scored"; readonly scores: Scores }
  | { readonly type: "answered"; readonly attempt: number; readonly receipt: Receipt }
  | { readonly type: "restarted" } // the state was loaded: answers to earlier calls are lost
  | { readonly type: "tick" };

export type DutyEffect =
  | { readonly type: "read"; readonly blocks: BlockRange | null } // answered by viewRead or readFailed
  | { readonly type: "send"; readonly attempt: number; readonly call: ChainCall } // answered by `answered`
  | {
    readonly type: "sealAndSend"; // like `send`, for commitTimelockedWeights with the row sealed until the round
    readonly attempt: number;
    readonly row: WeightsRow;
    readonly versionKey: string;
    readonly revealRound: string; // u64 in decimal
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
    readonly type: "lost"; // it can no longer land
    readonly purpose: "set" | "reveal";
    readonly undoneBlock: number | null; // in which it was before a fork removed it; null: it was in none
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
