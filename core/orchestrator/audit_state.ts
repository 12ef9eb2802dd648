/**
 * What validators were asked and will be. Plain data. Invariant: `open` counts the pending and running requests of each round.
 */

import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";

/** A task of the round's first step that validators repeat; all of it can be recomputed from `source`. */
export interface ReplayTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly input: BlobRef | null; // null: token ids
  readonly gradient: BlobRef | null;
  readonly output: BlobRef;
  readonly losses: readonly number[] | null;
}

export type AuditRequest =
  | { readonly type: "evaluate"; readonly round: number }
  | { readonly type: "replay"; readonly replay: ReplayTask };

export interface AuditWork {
  pending: AuditRequest[];
  readonly running: Map<number, { validator: NodeId; request: AuditRequest }>;
  readonly open: Map<number, number>; // requests of a round that are pending or running
  requests: number;
  held: { round: number; refs: BlobRef[] }[]; // wires of replay tasks
}

export const roundOf = (request: AuditRequest): number =>
  request.type === "evaluate" ? request.round : request.replay.round;

export function addRequest(audit: AuditWork, request: AuditRequest): void {
  const round = roundOf(request);
  audit.pending.push(request);
  audit.open.set(round, (audit.open.get(round) ?? 0) + 1);
}

/** A request was answered or given up. */
export function closeRequest(audit: AuditWork, request: AuditRequest): void {
  const round = roundOf(request);
  const left = (audit.open.get(round) ?? 0) - 1;
  if (left > 0) audit.open.set(round, left);
  else audit.open.delete(round);
}
