/** The identifiers of a run, branded so that swapping two of them does not compile. */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** ss58 address of a node's hotkey. */
export type NodeId = Brand<string, "NodeId">;
/** Stage 0 holds the embedding, the last one the head. */
export type StageIndex = Brand<number, "StageIndex">;
/** Position in the run's data order, 0-based, never reused. */
export type MicrobatchId = Brand<number, "MicrobatchId">;
/** One attempt at one task: `12.1.forward.0`. */
export type TaskId = Brand<string, "TaskId">;
/** Lower-case hex: SHA-256 up to 1 MiB, above that a root over the hashes of its leaves. */
export type BlobHash = Brand<string, "BlobHash">;

export const nodeId = (address: string): NodeId => address as NodeId;
export const stageIndex = (index: number): StageIndex => index as StageIndex;
export const microbatchId = (index: number): MicrobatchId => index as MicrobatchId;
export const blobHash = (hex: string): BlobHash => hex as BlobHash;

/** `turnaround`: the tail's forward, loss and backward in one go. */
export type Direction = "forward" | "turnaround" | "backward";

interface TaskParts {
  microbatch: MicrobatchId;
  stage: StageIndex;
  direction: Direction;
  attempt: number;
}

export function taskId(parts: TaskParts): TaskId {
  return `${parts.microbatch}.${parts.stage}.${parts.direction}.${parts.attempt}` as TaskId;
}

export function partsOf(task: TaskId): Omit<TaskParts, "attempt"> {
  const [microbatch, stage, direction] = task.split("."); // net/messages refuses any other text
  return {
    microbatch: microbatchId(Number(microbatch)),
    stage: stageIndex(Number(stage)),
    direction: direction as Direction,
  };
}

export interface BlobRef {
  readonly hash: BlobHash;
  readonly bytes: number;
}
