/**
 * The inputs of a view: the run's records, and the few facts that only the process around the machine knows.
 *
 * Owns: the closed union and the stamp. Field names once published stay, because record logs keep them. Out of scope:
 * what a record means for the view (fold.ts).
 */

import type { NodeId, StageIndex } from "../ids.ts";
import type { Role } from "../protocol/message.ts";
import type { RunRecord } from "../protocol/record.ts";

/** What does not change during a run. */
export interface RunFacts {
  readonly command: string; // "swarm", "orchestrate"
  readonly run: string; // its name
  readonly size: string;
  readonly parameters: number; // of the whole model
  readonly device: string; // "": not known yet
  readonly steps: number;
  readonly stepsPerRound: number; // 0: measured
  readonly layersOfStages: readonly number[];
}

/** `stopped`: this process ended before the run's last step. */
export type ViewPhase = "gathering" | "training" | "merging" | "finished" | "stopped";

/** A member of a resumed run. */
export interface TakenUpNode {
  readonly node: NodeId;
  readonly role: Role;
  readonly stage: StageIndex | null;
  readonly isReady: boolean;
}

export type ShellRecord =
  /** A process starts displaying the run; `step` is the newest checkpoint's, until `takenUp`. */
  | { type: "opened"; facts: RunFacts; startedAtMs: number; step: number }
  /** Where the run begins or resumes. Without `nodes`, the known nodes stay. */
  | { type: "takenUp"; step: number; round: number; phase?: ViewPhase; nodes?: readonly TakenUpNode[] }
  | { type: "deviceFound"; device: string }
  /** Bytes per token across one boundary, as counted on the sockets, and what bf16 activations would take. */
  | { type: "wire"; forwardBytes: number; backwardBytes: number; bf16Bytes: number }
  /** Over the orchestrator's port, both ways, since the record before it. */
  | { type: "bytesMoved"; wires: number; merge: number; parameters: number; control: number }
  /** What a swarm's own chain has done so far; `minersRao`, the total paid to miners, is a decimal number. */
  | { type: "chain"; block: number; weightsSet: number; epochs: number; minersRao: string }
  /** How the model continued the prompt, with the parameters that a round begins with. */
  | { type: "textSampled"; round: number; step: number; prompt: string; text: string; tokens: number }
  /** News without a record. */
  | { type: "noted"; label: string; text: string };

export type ViewRecord = RunRecord | ShellRecord;

export type RecordOf<Type extends ViewRecord["type"]> = Extract<ViewRecord, { type: Type }>;

export interface StampedRecord {
  readonly sequence: number; // from 1, over all processes of the run
  readonly atMs: number; // wall clock
  readonly record: ViewRecord;
}

/** A stage with one replica has no other to differ from. */
export const isCompared = ({ stages }: RecordOf<"roundMerged">): boolean => stages.some(({ replicas }) => replicas > 1);
