/**
 * The open step: microbatches in flight, the queues of each stage, leases, and commitments of gradients.
 *
 * Plain data. Invariants (invariants.ts): an item is in exactly one of blocked, queued, leased, done; a queued item is
 * in one queue, its stage's or that of the one member it belongs to; a leased item has one lease, or a few while it is
 * tried elsewhere.
 */

import type { WireScale } from "../../codec/wire.ts";
import type { Before } from "../../heap.ts";
import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../../ids.ts";
import type { HeldReceipt } from "../../statements/receipt.ts";
import type { StepFault } from "./step_outcome.ts";

export type ItemStatus = "blocked" | "queued" | "leased" | "done";

export interface Lease {
  readonly task: TaskId;
  readonly node: NodeId;
  readonly leasedMs: number;
  readonly deadlineMs: number;
  readonly isAlone: boolean; // its miner held no other task then
}

/** The implausible part of a result. */
export interface Doubt {
  readonly measure: keyof WireScale | "loss";
  readonly value: number;
  readonly excess: number; // factor outside the plausible range; Infinity if the value is not finite
  readonly detail: string;
}

export interface Failure {
  readonly node: NodeId;
  readonly doubt: Doubt;
}

/** One microbatch through one stage in one direction, whichever replica does it. */
export interface WorkItem {
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  status: ItemStatus;
  attempts: number;
  leases: Lease[];
  task: TaskId | null; // accepted attempt
  doneBy: NodeId | null;
  doneIn: number | null; // the doer's assignment at that time
  madeBy: Maker | null; // of the kept output: the first attempt's
  avoid: NodeId | null; // the last node to fail it
  refused: Failure[]; // failures since its input arrived: refusals.ts
  overdue: NodeId[]; // replicas that were given its input and have taken longer than expected
  lapsed: NodeId[]; // of these, those whose deadline passed, with or without a link
  makers: NodeId[]; // makers whose output was dropped with an earlier attempt at the microbatch: others come first
  again: NodeId[]; // replicas that failed it in the last attempt: asked first, so that the two inputs can be told apart
  failed: readonly Failure[]; // failures before it was accepted
  isDoubtful: boolean; // the accepted result was implausible
}

export interface Maker {
  readonly node: NodeId;
  readonly task: TaskId;
  readonly assignment: number; // the node's at that time
}

/** An attempt at a microbatch that was dropped because one of its results was in doubt: remaking.ts. */
export interface Making {
  readonly item: WorkItem; // the item whose result was in doubt
  readonly wires: (BlobRef | null)[]; // of the forwards before it, held until the step closes
  readonly makers: readonly (NodeId | null)[]; // of these wires
  readonly apart: (number | null)[]; // distance of each wire from the last one made from the same input; null if unknown
  readonly failed: readonly Failure[];
  readonly isUnanimous: boolean; // no replica computed a plausible result from it
  isVoid: boolean; // later trouble has another cause
  readonly paid: Map<NodeId, number>; // units of work dropped with it; excludes the apparent culprits
}

/** A microbatch in flight; `items` in the order of its chain: forwards, turnaround, backwards. */
export interface Flow {
  readonly microbatch: MicrobatchId;
  readonly items: readonly WorkItem[];
  readonly wires: (BlobRef | null)[]; // output of each stage's forward
  readonly gradients: (BlobRef | null)[]; // output of each stage's backward, towards the stage before
  losses: readonly number[] | null;
  past: Making[];
  isRemade: boolean; // some wires were lost and recomputed: results of the first cannot be repeated from the second
}

/** The segments that belong to the microbatch. */
export const wiresOfFlow = (flow: Flow): BlobRef[] =>
  [...flow.wires, ...flow.gradients, ...pastWires(flow)].filter((ref) => ref !== null);

/** The segments of dropped attempts. */
export const pastWires = ({ past }: Flow): BlobRef[] =>
  past.flatMap(({ wires }) => wires.filter((ref) => ref !== null));

/** Gradients before forwards: they free memory and let the step close; each in data order. */
export interface ItemQueue {
  readonly gradients: WorkItem[]; // heaps by microbatch
  readonly forwards: WorkItem[];
}

export const newQueue = (): ItemQueue => ({ gradients: [], forwards: [] });
export const inDataOrder: Before<WorkItem> = (a, b) => a.microbatch < b.microbatch;
export const heapOf = (queue: ItemQueue, item: WorkItem): WorkItem[] =>
  item.direction === "forward" ? queue.forwards : queue.gradients;
export const isEmpty = (queue: ItemQueue): boolean => queue.gradients.length === 0 && queue.forwards.length === 0;

/** Replicas that failed the item since its input arrived. */
export const refusersOf = ({ refused }: WorkItem): Set<NodeId> => new Set(refused.map(({ node }) => node));
export const hasRefused = ({ refused }: WorkItem, node: NodeId): boolean => refused.some((each) => each.node === node);

export interface SealedGradient {
  readonly tasks: number;
  readonly squareSum: number; // of the plain sum over the tasks
  readonly receipt: HeldReceipt | null; // null: it signed for other results
}

export interface SealRequest {
  readonly request: number; // only its answer counts: it alone reflects what the device has now
  readonly root: string; // that its answer must sign: receipts.ts
  readonly lookMs: number; // after this others may do its tasks
  readonly deadlineMs: number; // after this the contributor counts as lost
}

/** A request that went out behind the tasks it names, before their results: asking_ahead.ts. */
export interface SealAhead {
  readonly request: number;
  readonly tasks: readonly TaskId[]; // whose gradient is requested
  readonly delivered: readonly TaskId[]; // results that its answer signs for
}

export interface DepartedGradient extends SealedGradient {
  readonly node: NodeId;
  readonly stage: StageIndex;
  readonly items: readonly WorkItem[];
}

export interface StepWork {
  readonly flows: readonly Flow[];
  readonly queues: readonly ItemQueue[]; // one per stage: items that any replica may take
  readonly leased: Map<TaskId, WorkItem>;
  readonly credited: Map<TaskId, WorkItem>; // accepted gradient tasks
  readonly contributors: Set<NodeId>; // nodes with credited tasks
  readonly touched: Set<NodeId>; // nodes handed a gradient task: their accumulators may be non-empty
  left: number; // items not done
  readonly waiting: number[]; // one per stage: its blocked or queued items
  readonly unowned: number[]; // one per stage: of these, the forwards and turnarounds, which any replica may get
  readonly forwards: Map<NodeId, number>; // accepted from each
  readonly delivered: Set<NodeId>; // nodes with accepted results, of any direction, that have not left since
  readonly leavers: Set<NodeId>; // nodes that have left since: nobody can repeat their work, so it is not paid
  readonly idle: Set<NodeId>[]; // one per stage: contributors without a lease, not yet asked to commit
  /** Whose devices may hold gradients of tasks that do not count: when asked, they repeat the others. */
  readonly uncounted: Set<NodeId>;
  readonly handed: Set<NodeId>; // handed a gradient task in this turn
  readonly askedAhead: Map<NodeId, SealAhead>; // to commit tasks that they are still computing
  readonly asked: Map<NodeId, SealRequest>; // to commit finished tasks
  seals: number; // requests so far
  readonly returns: Map<NodeId, number>; // how often each has returned in this step
  readonly startedMs: number;
  readonly sealed: Map<NodeId, SealedGradient>; // committed, with nothing added since
  readonly departed: DepartedGradient[]; // committed by nodes that were lost since: their tasks count
  readonly faults: StepFault[]; // the first `mostFaults` of the step
  faultsLeftOut: number;
}

const mostFaults = 1024;

/** Notes a fault for the step's outcome; its finder handles the consequences. */
export function noteFault(work: StepWork, fault: StepFault): void {
  if (work.faults.length < mostFaults) work.faults.push(fault);
  else work.faultsLeftOut += 1;
}

/** Every wire that the step has accepted so far. */
export const refsOfWork = ({ flows }: StepWork): BlobRef[] => flows.flatMap(wiresOfFlow);

/** The item starts (1) or stops (-1) waiting. */
export function countWaiting(work: StepWork, { stage, direction }: WorkItem, change: 1 | -1): void {
  work.waiting[stage] = (work.waiting[stage] ?? 0) + change;
  if (direction !== "backward") work.unowned[stage] = (work.unowned[stage] ?? 0) + change;
}

/**
 * The most that a device spends on a task, in forwards of its stage: a gradient task costs two, plus a repeated forward
 * unless the miner had room to keep its activations. Pace, patience and the split of the layers count this, so that a
 * device without room does not appear late. Pay counts the necessary work, without the repeat (model/task_flops.ts).
 */
export function forwardsOf(direction: Direction): number {
  return direction === "forward" ? 1 : 3;
}
