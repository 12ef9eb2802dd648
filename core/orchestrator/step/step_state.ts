/**
 * The open step: microbatches, queues, leases, gradient commitments. Plain data.
 *
 * Invariants (invariants.ts): an item is in exactly one of blocked, queued, leased, done; a queued item is in one
 * queue, its stage's or that of the one member it belongs to; a leased item has one lease, or a few while it is tried
 * elsewhere.
 */

import { present } from "../../assert.ts";
import type { WireScale } from "../../codec/wire.ts";
import type { Before } from "../../heap.ts";
import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../../ids.ts";
import type { HeldReceipt } from "../../statements/receipt.ts";

type ItemStatus = "blocked" | "queued" | "leased" | "done";

export interface Lease {
  readonly task: TaskId;
  readonly node: NodeId;
  readonly leasedMs: number;
  readonly deadlineMs: number;
  readonly isAlone: boolean; // its miner held no other task
}

export interface Doubt {
  readonly measure: keyof WireScale | "loss";
  readonly value: number;
  readonly excess: number; // factor outside the plausible range; Infinity: not finite
  readonly detail: string;
}

export interface Failure {
  readonly node: NodeId;
  readonly doubt: Doubt;
}

/** One microbatch through one stage in one direction. */
export interface WorkItem {
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  status: ItemStatus;
  attempts: number;
  leases: Lease[];
  task: TaskId | null; // accepted attempt
  doneBy: NodeId | null;
  doneIn: number | null; // the doer's assignment
  madeBy: Maker | null; // of the kept output: the first attempt's
  avoid: NodeId | null; // the last node to fail it
  refused: Failure[]; // since its input arrived: refusals.ts
  overdue: NodeId[]; // replicas that took longer than expected with its input
  lapsed: NodeId[]; // of these, those past their deadline
  makers: NodeId[]; // of outputs dropped with an earlier attempt: others come first
  again: NodeId[]; // failed it in the last attempt: asked first, to tell the two inputs apart
  failed: readonly Failure[]; // before it was accepted
  isDoubtful: boolean; // the accepted result was implausible
}

interface Maker {
  readonly node: NodeId;
  readonly task: TaskId;
  readonly assignment: number; // the node's at that time
}

/** A dropped attempt at a microbatch: remaking.ts. */
export interface Making {
  readonly item: WorkItem; // whose result was in doubt
  readonly wires: (BlobRef | null)[]; // of the forwards before it, held until the step closes
  readonly makers: readonly (NodeId | null)[];
  readonly apart: (number | null)[]; // each wire's distance from the last one of the same input; null: unknown
  readonly failed: readonly Failure[];
  readonly isUnanimous: boolean; // no replica computed a plausible result
  isVoid: boolean; // later trouble has another cause
  readonly paid: Map<NodeId, number>; // units of dropped work, except the apparent culprits'
}

/** `items` in chain order: forwards, turnaround, backwards. */
export interface Flow {
  readonly microbatch: MicrobatchId;
  readonly items: readonly WorkItem[];
  readonly wires: (BlobRef | null)[]; // of each stage's forward
  readonly gradients: (BlobRef | null)[]; // of each stage's backward, for the stage before
  losses: readonly number[] | null;
  past: Making[];
  isRemade: boolean; // some wires were lost and recomputed
}

const wiresOfFlow = (flow: Flow): BlobRef[] =>
  [...flow.wires, ...flow.gradients, ...pastWires(flow)].filter((ref) => ref !== null);

export const pastWires = ({ past }: Flow): BlobRef[] =>
  past.flatMap(({ wires }) => wires.filter((ref) => ref !== null));

/** Gradients go first: they free memory and let the step close. */
export interface ItemQueue {
  readonly gradients: WorkItem[]; // heaps in data order
  readonly forwards: WorkItem[];
}

export const newQueue = (): ItemQueue => ({ gradients: [], forwards: [] });
export const inDataOrder: Before<WorkItem> = (a, b) => a.microbatch < b.microbatch;
export const heapOf = (queue: ItemQueue, item: WorkItem): WorkItem[] =>
  item.direction === "forward" ? queue.forwards : queue.gradients;
export const isEmpty = (queue: ItemQueue): boolean => queue.gradients.length === 0 && queue.forwards.length === 0;

export const refusersOf = ({ refused }: WorkItem): Set<NodeId> => new Set(refused.map(({ node }) => node));
export const hasRefused = ({ refused }: WorkItem, node: NodeId): boolean => refused.some((each) => each.node === node);

export interface SealedGradient {
  readonly tasks: number;
  readonly squareSum: number; // of the plain sum over the tasks
  readonly receipt: HeldReceipt | null; // null: it signed for other results
}

export interface SealRequest {
  readonly request: number; // only its answer reflects what the device has now
  readonly root: string; // to sign: receipts.ts
  readonly lookMs: number; // then others may do its tasks
  readonly deadlineMs: number; // then it counts as lost
}

/** Sent before the results of the tasks it names: asking_ahead.ts. */
interface SealAhead {
  readonly request: number;
  readonly tasks: readonly TaskId[]; // whose gradient is requested
  readonly delivered: readonly TaskId[]; // results that the answer signs for
}

export interface DepartedGradient extends SealedGradient {
  readonly node: NodeId;
  readonly stage: StageIndex;
  readonly items: readonly WorkItem[];
}

export interface StepWork {
  readonly flows: readonly Flow[];
  readonly queues: readonly ItemQueue[]; // by stage: items for any replica
  readonly leased: Map<TaskId, WorkItem>;
  readonly credited: Map<TaskId, WorkItem>; // accepted gradient tasks
  readonly contributors: Set<NodeId>;
  readonly touched: Set<NodeId>; // handed a gradient task: accumulators may be non-empty
  left: number; // items not done
  readonly waiting: number[]; // by stage: blocked or queued items
  readonly unowned: number[]; // by stage: of these, the forwards and turnarounds
  readonly forwards: Map<NodeId, number>; // accepted from each
  readonly delivered: Set<NodeId>; // nodes with accepted results that have not left since
  readonly leavers: Set<NodeId>; // left since: nobody can repeat their work, so it is unpaid
  readonly idle: Set<NodeId>[]; // by stage: contributors without a lease, not asked to commit
  /** Their devices may hold gradients that do not count: when asked, they repeat the others. */
  readonly uncounted: Set<NodeId>;
  readonly handed: Set<NodeId>; // a gradient task in this turn
  readonly askedAhead: Map<NodeId, SealAhead>; // to commit tasks they still compute
  readonly asked: Map<NodeId, SealRequest>; // to commit finished tasks
  seals: number;
  readonly returns: Map<NodeId, number>;
  readonly startedMs: number;
  readonly sealed: Map<NodeId, SealedGradient>; // with nothing added since
  readonly departed: DepartedGradient[]; // of nodes lost since: their tasks count
}

export const openWork = ({ work }: { readonly work: StepWork | null }): StepWork => present(work, "an open step");

export const refsOfWork = ({ flows }: StepWork): BlobRef[] => flows.flatMap(wiresOfFlow);

/** The item starts (1) or stops (-1) waiting. */
export function countWaiting(work: StepWork, { stage, direction }: WorkItem, change: 1 | -1): void {
  work.waiting[stage] = (work.waiting[stage] ?? 0) + change;
  if (direction !== "backward") work.unowned[stage] = (work.unowned[stage] ?? 0) + change;
}

/**
 * The most that a device spends, in forwards: a gradient task costs two, plus a repeated forward unless there is room
 * for activations. Pay does not count the repeat (model/task_flops.ts).
 */
export function forwardsOf(direction: Direction): number {
  return direction === "forward" ? 1 : 3;
}
