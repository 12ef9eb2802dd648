/**
 * The entries of a run's signed log. Published field names stay. Entries have no time stamps, so that a replayed
 * journal makes the same ones. Lines, hashes and signatures are in cli/observe/ledger.
 */

import type { MicrobatchId, NodeId, StageIndex } from "../ids.ts";
import type { DoneWork, StepReceipt } from "../statements/statement.ts";
import type { WorkPath } from "../statements/work_tree.ts";
import type { Forfeit } from "../score/work_score.ts";
import type { VerdictFacts } from "../score/verdict.ts";

/** Miners are indices in the entry's `miners`. */
export interface LoggedPathway {
  readonly microbatch: MicrobatchId;
  readonly doers: readonly number[]; // at each of the 2K - 1 positions, the miner whose work counts
  readonly makers?: readonly number[]; // the miners whose outputs were passed on; absent: the doers
  readonly loss: number; // mean nats per token, as the tail reported it
}

export interface StepEntry {
  readonly type: "step";
  readonly step: number;
  readonly round: number;
  readonly loss: number;
  readonly miners: readonly NodeId[];
  readonly tasks: readonly number[]; // accepted, of each miner
  readonly units: readonly number[]; // of work (model/task_flops.ts), of each miner
  readonly dropped?: readonly number[]; // units of work that was dropped later, of each miner; absent: none
  readonly forwardUnits?: readonly number[]; // of each stage; earlier versions lack it
  readonly unpaid: readonly number[]; // indices of miners without pay for the step
  readonly pathways: readonly LoggedPathway[];
}

export interface RoundEntry {
  readonly type: "round";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
  readonly halved: readonly NodeId[]; // missed a deadline of the merge: half of the pay
  /** Share of the units that counts, by the last leave-one-in evaluation; absent: all. */
  readonly qualities?: readonly number[];
  readonly forfeits?: readonly Forfeit[]; // of units not yet vested (work_score.ts); absent: none
  readonly isLast?: boolean; // all units vest; absent: no
  readonly expelled: readonly NodeId[]; // since the run began
}

interface MinerUnits {
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
}

export const minerUnits = (units: ReadonlyMap<NodeId, number>): MinerUnits => ({
  miners: [...units.keys()],
  units: [...units.values()],
});

/** Held-out losses of a round's start, and with one stage replaced by each miner's payload. */
export interface TriedEntry {
  readonly type: "tried";
  readonly round: number;
  readonly stage: StageIndex;
  readonly tokens: number;
  readonly base: number;
  readonly miners: readonly NodeId[];
  readonly losses: readonly (number | null)[]; // null: not finite
  readonly recovery?: number; // of each share per later round; absent: none
  readonly keepsShares?: true; // of miners without a result; earlier versions paid them in full
  readonly parameters?: readonly string[]; // of every stage at the round's start (statements/statement.ts)
  readonly ends?: readonly LoggedEnd[]; // with the validators' answers for each loss; earlier versions lack it
}

/** One model of a leave-one-in evaluation. */
export interface LoggedEnd {
  readonly node: NodeId | null; // owner of the payload; null: the round's start
  readonly parameters: string | null; // of the replaced stage; null: the round's
  readonly answers: readonly {
    readonly validator: NodeId;
    readonly loss: number | null; // null: not finite
    readonly tokens: number;
    readonly signature: string;
  }[];
}

/** With the validator's signature of a statement; earlier versions lack some fields. */
export interface VerdictEntry extends VerdictFacts {
  readonly type: "verdict";
  readonly validator: NodeId;
  readonly work?: string; // hash of a task's inputs and output
  readonly step?: number;
  readonly parameters?: string; // used for the repetition
  readonly signature?: string;
  readonly proof?: WorkProof; // of a failed audit
}

/** A miner's signed receipt of a step, and the path to one task in it. */
export interface WorkProof extends Omit<StepReceipt, "type" | "round"> {
  readonly signature: string;
  readonly work?: Omit<DoneWork, "task">; // absent: the norm of the gradient failed
  readonly path?: WorkPath;
}

export interface CommittedEntry {
  readonly type: "committed";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly heads: readonly string[]; // of the chains over their steps (core/statements/work_chain.ts)
  readonly payloads: readonly string[];
  readonly signatures: readonly string[];
}

/** Written before a round's first step, to commit to the key of its random sampling. */
export interface DrawsEntry {
  readonly type: "draws";
  readonly round: number;
  readonly hash: string; // SHA-256 of the key that `merged` reveals
}

export interface EvaluatedEntry {
  readonly type: "evaluated";
  readonly round: number;
  readonly validator: NodeId;
  readonly loss: number | null;
  readonly tokens?: number;
  readonly parameters?: readonly string[];
  readonly signature?: string;
}

export interface ScoresEntry {
  readonly type: "scores";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly scores: readonly number[]; // by reports and bans alone
  /** Only scores that differ, for validators whose own verdicts withhold pay. */
  readonly differing: readonly {
    readonly validator: NodeId;
    readonly miners: readonly NodeId[];
    readonly scores: readonly number[];
  }[];
}

/** The model whose parameters a run began with. */
export interface StartModel {
  readonly name: string; // of its folder
  /** SHA-256 of the lines `<sha256>  <tensor>\n` of all tensors in float32, ordered by name. */
  readonly parameters: string;
}

export type MachineEntry =
  | StepEntry
  | RoundEntry
  | TriedEntry
  | { readonly type: "joined"; readonly node: NodeId; readonly role: "miner" | "validator" }
  | { readonly type: "assigned"; readonly node: NodeId; readonly stage: StageIndex; readonly round: number }
  | { readonly type: "left"; readonly node: NodeId; readonly reason: string; readonly isExpelled?: true }
  | { readonly type: "blamed"; readonly node: NodeId; readonly code: string; readonly detail: string }
  | { readonly type: "undone"; readonly toStep: number; readonly reason: string } // steps from there on do not count
  | VerdictEntry
  | CommittedEntry
  | DrawsEntry
  | EvaluatedEntry
  | { readonly type: "merged"; readonly round: number; readonly parameters: readonly string[]; readonly draws: string };

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
    readonly from?: StartModel; // absent: it began with random parameters
  }
  /** First in a later file, or where lines are lost: the state that earlier lines left. */
  | {
    readonly type: "carried";
    readonly run: string;
    readonly hub: NodeId;
    readonly lost: number;
    readonly state: CarriedState;
  }
  | { readonly type: "ended"; readonly finished: boolean; readonly reason: string };

export interface CarriedState {
  readonly nextStep: number;
  readonly isWhole: boolean;
  readonly open: readonly {
    readonly step: number;
    readonly round: number;
    readonly miners: readonly NodeId[];
    readonly units: readonly number[];
  }[];
  readonly forwardUnits?: readonly number[]; // absent: not stated yet
  readonly newestRound: number;
  readonly qualities?: { readonly miners: readonly NodeId[]; readonly shares: readonly number[] };
  readonly recovery?: number;
  readonly endedRound?: number; // of the report that ended the run
  readonly draws?: Omit<DrawsEntry, "type">;
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
