/**
 * The entries of a run's signed log: what the orchestrator handed out, what came back, the verdicts, and the pay.
 *
 * Owns the closed union. Field names once published stay. Entries have no time stamps, so that a replayed journal makes
 * the same ones. Out of scope: what follows from them (ledger.ts), lines, hashes and signatures (cli/observe/ledger).
 */

import type { MicrobatchId, NodeId, StageIndex } from "../ids.ts";
import type { DoneWork, StepReceipt } from "../statements/statement.ts";
import type { WorkPath } from "../statements/work_tree.ts";
import type { Forfeit } from "../score/work_score.ts";
import type { VerdictFacts } from "../score/verdict.ts";

/** A microbatch's path through the run, by index in the entry's `miners`. */
export interface LoggedPathway {
  readonly microbatch: MicrobatchId;
  readonly doers: readonly number[]; // whose work counts, at each of the 2K - 1 positions
  readonly makers?: readonly number[]; // whose outputs were passed on; absent: the doers
  readonly loss: number; // mean nats per token, as the tail's miner reported it
}

export interface StepEntry {
  readonly type: "step";
  readonly step: number; // 0-based
  readonly round: number;
  readonly loss: number;
  readonly miners: readonly NodeId[];
  readonly tasks: readonly number[]; // accepted, of each miner
  readonly units: readonly number[]; // of work (model/task_flops.ts), of each miner
  readonly dropped?: readonly number[]; // of these, in work that was dropped later; absent: none
  readonly forwardUnits?: readonly number[]; // of each stage; absent in earlier versions
  readonly unpaid: readonly number[]; // indices of miners that are not paid for the step
  readonly pathways: readonly LoggedPathway[];
}

/** A work report, as sent to the validators. */
export interface RoundEntry {
  readonly type: "round";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
  readonly halved: readonly NodeId[]; // missed a deadline of the merge: half of the round's pay
  /** Shares that count, by each miner's last leave-one-in evaluation; absent: all. */
  readonly qualities?: readonly number[];
  readonly forfeits?: readonly Forfeit[]; // of units reported before and not vested: work_score.ts; absent: none
  readonly isLast?: boolean; // no round follows: all units vest; absent: no
  readonly expelled: readonly NodeId[]; // since the run began
}

/** Lists of equal length. */
export interface MinerUnits {
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
}

export const minerUnits = (units: ReadonlyMap<NodeId, number>): MinerUnits => ({
  miners: [...units.keys()],
  units: [...units.values()],
});

/** Held-out losses of a round's start, and with one stage as each miner's payload leaves it. */
export interface TriedEntry {
  readonly type: "tried";
  readonly round: number;
  readonly stage: StageIndex;
  readonly tokens: number; // of which each loss is the mean
  readonly base: number;
  readonly miners: readonly NodeId[];
  readonly losses: readonly (number | null)[]; // null: not finite
  readonly recovery?: number; // of each share with every later round; absent in earlier versions: none
  readonly keepsShares?: true; // of miners without a result; absent in earlier versions: they were paid in full
  readonly parameters?: readonly string[]; // of every stage at the round's start: statements/statement.ts
  readonly ends?: readonly LoggedEnd[]; // with the validators' answers for each loss; absent in earlier versions
}

/** One of the models that a leave-one-in evaluation compared. */
export interface LoggedEnd {
  readonly node: NodeId | null; // whose payload; null: the round's start
  readonly parameters: string | null; // of the replaced stage; null: those of the round
  readonly answers: readonly {
    readonly validator: NodeId;
    readonly loss: number | null; // null: not finite
    readonly tokens: number;
    readonly signature: string;
  }[];
}

/** A validator's finding, with its signature of a statement; fields left out by earlier versions. */
export interface VerdictEntry extends VerdictFacts {
  readonly type: "verdict";
  readonly validator: NodeId;
  readonly work?: string; // of a task: hash of its inputs and output
  readonly step?: number; // of a gradient
  readonly parameters?: string; // that the work was repeated with
  readonly signature?: string;
  readonly proof?: WorkProof; // of a failed audit: the miner's signature for the work
}

/** A miner's signed receipt of a step, and the path of a task in it. */
export interface WorkProof extends Omit<StepReceipt, "type" | "round"> {
  readonly signature: string;
  readonly work?: Omit<DoneWork, "task">; // absent: the norm of the gradient failed
  readonly path?: WorkPath;
}

/** Miners' signed commitments to their payloads of a round. */
export interface CommittedEntry {
  readonly type: "committed";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly heads: readonly string[]; // of the chains over their steps: core/statements/work_chain.ts
  readonly payloads: readonly string[]; // hashes
  readonly signatures: readonly string[];
}

/** Before a round's first step: a commitment to the key of its random sampling. */
export interface DrawsEntry {
  readonly type: "draws";
  readonly round: number;
  readonly hash: string; // SHA-256 of the key as `merged` reveals it
}

export interface EvaluatedEntry {
  readonly type: "evaluated";
  readonly round: number;
  readonly validator: NodeId;
  readonly loss: number | null; // null: not finite
  readonly tokens?: number;
  readonly parameters?: readonly string[]; // of every stage
  readonly signature?: string;
}

export interface ScoresEntry {
  readonly type: "scores";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly scores: readonly number[]; // from reports and bans alone
  /** For validators whose own verdicts withhold pay: only the scores that differ. */
  readonly differing: readonly {
    readonly validator: NodeId;
    readonly miners: readonly NodeId[];
    readonly scores: readonly number[];
  }[];
}

export type MachineEntry =
  | StepEntry
  | RoundEntry
  | TriedEntry
  | { readonly type: "joined"; readonly node: NodeId; readonly role: "miner" | "validator" }
  | { readonly type: "assigned"; readonly node: NodeId; readonly stage: StageIndex; readonly round: number }
  | { readonly type: "left"; readonly node: NodeId; readonly reason: string; readonly isExpelled?: true }
  | { readonly type: "blamed"; readonly node: NodeId; readonly code: string; readonly detail: string }
  | { readonly type: "undone"; readonly toStep: number; readonly reason: string } // no step from there on counts
  | VerdictEntry
  | CommittedEntry
  | DrawsEntry
  | EvaluatedEntry
  | { readonly type: "merged"; readonly round: number; readonly parameters: readonly string[]; readonly draws: string };

/** Written by the process that keeps the log. */
export type LogEntry =
  | MachineEntry
  | ScoresEntry
  | {
    readonly type: "begun";
    readonly run: string;
    readonly hub: NodeId;
    readonly step: number;
    readonly round: number;
    readonly isJournaled: boolean;
  }
  /**
   * First in a file other than the first one, or where lines are lost: the state from earlier lines that the rest
   * depends on.
   */
  | {
    readonly type: "carried";
    readonly run: string;
    readonly hub: NodeId;
    readonly lost: number;
    readonly state: CarriedState;
  }
  | { readonly type: "ended"; readonly finished: boolean; readonly reason: string };

/** See ledger.ts. */
export interface CarriedState {
  readonly nextStep: number;
  readonly isWhole: boolean;
  readonly open: readonly {
    readonly step: number;
    readonly round: number;
    readonly miners: readonly NodeId[];
    readonly units: readonly number[];
  }[];
  readonly forwardUnits?: readonly number[]; // of each stage; absent: no step has stated it
  readonly newestRound: number;
  readonly qualities?: { readonly miners: readonly NodeId[]; readonly shares: readonly number[] };
  readonly recovery?: number; // of these
  readonly endedRound?: number; // of the newest report that ended the run; absent: none
  readonly draws?: Omit<DrawsEntry, "type">; // of the open round
  readonly rounds: readonly {
    readonly round: number;
    readonly miners: readonly NodeId[];
    readonly units: readonly number[];
  }[];
  readonly withheld: readonly {
    readonly validator: NodeId | null; // null: banned, for all
    readonly miners: readonly NodeId[];
    readonly rounds: readonly number[];
    readonly shares: readonly number[];
  }[];
}
