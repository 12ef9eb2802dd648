/**
 * What simulated nodes report to the checkers about themselves.
 */

import type { Fault } from "../../../../core/fault.ts";
import type { BlobRef, NodeId, StageIndex, TaskId } from "../../../../core/ids.ts";
import type { OwnMerge } from "./merge_check.ts";

interface WatchedNode {
  readonly node: NodeId;
  readonly isHonest: boolean;
}

export interface WatchedWork {
  readonly work: string;
  readonly stage: StageIndex | null; // the one to load
  readonly round: number | null;
  readonly payloads: readonly BlobRef[]; // those to reduce
}

export interface NodeWatch {
  /** A node's machine is about to be checked; large swarms skip some checks. */
  isCheckDue(): boolean;
  /** A miner applies a step to a gradient over exactly these tasks. */
  stepApplied(node: WatchedNode, step: { step: number; tasks: readonly TaskId[] }): void;
  /** A miner has taken the outer step that begins `round`. */
  merged(node: WatchedNode, merged: OwnMerge & { readonly round: number }): void;
  taskComputed(): void;
  /** Work failed at a node, in production because a blob is missing. */
  workFailed(node: WatchedNode, failed: WatchedWork & { readonly fault: Fault }): void;
  /** Whether the orchestrator waits for this work; abandoned work may find its blobs gone or closed. */
  isWanted(node: WatchedNode, work: WatchedWork): boolean;
  /** The orchestrator refused the node for good. */
  refused(node: WatchedNode): void;
}
