/**
 * The identifiers of a run, branded so that swapping two of them does not compile.
 *
 * Owns: the id types, each with one constructor. Out of scope: parsing network input (net/messages).
 */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** ss58 address of the hotkey a node signs with; one hotkey is one node. */
export type NodeId = Brand<string, "NodeId">;
/** A stage of the pipeline, 0-based; stage 0 holds the embedding, the last one the head. */
export type StageIndex = Brand<number, "StageIndex">;
/** Position of a microbatch in the run's data order, 0-based, never reused. */
export type MicrobatchId = Brand<number, "MicrobatchId">;
/** One microbatch through one stage in one direction, one attempt: `12.1.forward.0`. */
export type TaskId = Brand<string, "TaskId">;
/** Lower-case hex name of a blob by its content: SHA-256 up to 1 MiB, above that a root over the hashes of its leaves. */
export type BlobHash = Brand<string, "BlobHash">;

export const nodeId = (address: string): NodeId => address as NodeId;
export const stageIndex = (index: number): StageIndex => index as StageIndex;
export const microbatchId = (index: number): MicrobatchId => index as MicrobatchId;
export const blobHash = (hex: string): BlobHash => hex as BlobHash;

/** What a task does: `turnaround` is the tail's forward, loss and backward in one go. */
export type Direction = "forward" | "turnaround" | "backward";

export interface TaskParts {
  microbatch: MicrobatchId;
  stage: StageIndex;
  direction: Direction;
  attempt: number;
}

export function taskId(parts: TaskParts): TaskId {
  return `${parts.microbatch}.${parts.stage}.${parts.direction}.${parts.attempt}` as TaskId;
}

/** The parts of a task's name that say what it makes. */
export function partsOf(task: TaskId): Omit<TaskParts, "attempt"> {
  const [microbatch, stage, direction] = task.split("."); // taskId puts them there, and net/messages refuses any other text
  return {
    microbatch: microbatchId(Number(microbatch)),
    stage: stageIndex(Number(stage)),
    direction: direction as Direction,
  };
}

/** Content address of bytes that live outside machine state. */
export interface BlobRef {
  readonly hash: BlobHash;
  readonly bytes: number;
}
