/**
 * A view's inputs: the run's records, and facts that only the process around the machine knows. Record logs keep
 * published field names.
 */

import type { NodeId, StageIndex } from "../ids.ts";
import type { Role } from "../protocol/message.ts";
import type { RunRecord } from "../protocol/record.ts";

export interface RunFacts {
  readonly command: string; // "swarm", "orchestrate"
  readonly run: string;
  readonly size: string;
  readonly parameters: number; // whole model
  readonly device: string; // "": unknown
  readonly steps: number;
  readonly stepsPerRound: number; // 0: measured
  readonly layersOfStages: readonly number[];
}

/** `stopped`: before the run's last step. */
export type ViewPhase = "gathering" | "training" | "merging" | "finished" | "stopped";

export interface TakenUpNode {
  readonly node: NodeId;
  readonly role: Role;
  readonly stage: StageIndex | null;
  readonly isReady: boolean;
}

type ShellRecord =
  /** A process displays the run; `step`: the newest checkpoint's, until `takenUp`. */
  | { type: "opened"; facts: RunFacts; startedAtMs: number; step: number }
  /** Without `nodes`, the known ones stay. */
  | { type: "takenUp"; step: number; round: number; phase?: ViewPhase; nodes?: readonly TakenUpNode[] }
  | { type: "deviceFound"; device: string }
  /** Bytes per token across one boundary on the sockets, and with bf16 activations. */
  | { type: "wire"; forwardBytes: number; backwardBytes: number; bf16Bytes: number }
  /** Over the orchestrator's port, both ways, since the last record. */
  | { type: "bytesMoved"; wires: number; merge: number; parameters: number; control: number }
  /** A swarm's own chain; `minersRao`: total paid to miners, decimal. */
  | { type: "chain"; block: number; weightsSet: number; epochs: number; minersRao: string }
  /** `round` begins with these parameters. */
  | { type: "textSampled"; round: number; step: number; prompt: string; text: string; tokens: number }
  | { type: "noted"; label: string; text: string };

export type ViewRecord = RunRecord | ShellRecord;

export type RecordOf<Type extends ViewRecord["type"]> = Extract<ViewRecord, { type: Type }>;

export interface StampedRecord {
  readonly sequence: number; // from 1, over all processes
  readonly atMs: number; // wall clock
  readonly record: ViewRecord;
}

/** A single replica has nothing to differ from. */
export const isCompared = ({ stages }: RecordOf<"roundMerged">): boolean => stages.some(({ replicas }) => replicas > 1);
