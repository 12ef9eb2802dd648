/**
 * What members sign with their hotkeys: findings of validators, commitments of miners.
 *
 * The text is JSON of a fixed list of values and binds run, round and task, so equal statements have equal bytes. A
 * published form never changes: signed logs outlive the protocol's version.
 */

import type { BlobRef, Direction, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { ReplaySource } from "../protocol/message.ts";
import { sha256 } from "../sha256.ts";

interface TaskFinding {
  readonly type: "task";
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly work: string; // workHash
  readonly parameters: string; // sourceName
  readonly innovationError: number;
  readonly equalShare: number;
  readonly lossError: number | null;
}

interface GradientFinding {
  readonly type: "gradient";
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // the gradient's first
  readonly parameters: string;
  readonly squareSum: number;
}

interface ModelFinding {
  readonly type: "model";
  readonly round: number;
  readonly parameters: readonly string[];
  readonly loss: number | null; // null: not finite
  readonly tokens: number;
}

/** Commits a gradient and the results of its step. */
export interface StepReceipt {
  readonly type: "step";
  readonly round: number;
  readonly step: number;
  readonly previous: string; // head of the chain over earlier steps (work_chain.ts)
  readonly root: string; // over its results (work_tree.ts)
  readonly tasks: number; // summed gradients
  readonly squareSum: number; // of their sum
}

/** Commits a payload and all steps in it. */
interface RoundCommitment {
  readonly type: "round";
  readonly round: number;
  readonly head: string; // of that chain
  readonly payload: string; // over its slices, by the shell
}

export type Statement = TaskFinding | GradientFinding | ModelFinding | StepReceipt | RoundCommitment;

export interface SignedStatement {
  readonly signer: NodeId;
  readonly statement: Statement;
  readonly signature: string; // 128 hexadecimal digits
}

/** Stands for a signature until the sender's shell signs. */
export const unsigned = "";

export function statementText(run: string, statement: Statement): string {
  return JSON.stringify(["iota-statement-1", run, ...valuesOf(statement)]);
}

function valuesOf(statement: Statement): readonly unknown[] {
  switch (statement.type) {
    case "task": {
      const { type, round, miner, task, work, parameters, innovationError, equalShare, lossError } = statement;
      return [type, round, miner, task, work, parameters, innovationError, equalShare, lossError];
    }
    case "gradient": {
      const { type, round, step, miner, task, parameters, squareSum } = statement;
      return [type, round, step, miner, task, parameters, squareSum];
    }
    case "model": {
      const { type, round, parameters, loss, tokens } = statement;
      return [type, round, parameters, loss, tokens];
    }
    case "step": {
      const { type, round, step, previous, root, tasks, squareSum } = statement;
      return [type, round, step, previous, root, tasks, squareSum];
    }
    case "round": {
      const { type, round, head, payload } = statement;
      return [type, round, head, payload];
    }
  }
}

/** Names parameters by content. */
export function sourceName(source: ReplaySource): string {
  if (source.type === "moved") return `${sourceName(source.from)} ${source.change.hash}`;
  return source.type === "initial" ? "initial" : source.parameters.hash;
}

/** Inputs and output, without data that anyone can derive. */
export interface DoneWork {
  readonly task: TaskId;
  readonly input: string | null; // hash; null: token ids
  readonly gradient: string | null; // null: none
  readonly output: string | null; // null: none
  readonly losses: readonly number[] | null;
}

/** Token ids and targets follow from the microbatch, so they have no hashes. */
export function doneWork(
  { task, stage, direction, losses }: {
    task: TaskId;
    stage: StageIndex;
    direction: Direction;
    losses: readonly number[] | null;
  },
  { input, second, output }: { input: BlobRef; second: BlobRef | null; output: BlobRef | null },
): DoneWork {
  return {
    task,
    input: stage === 0 ? null : input.hash,
    gradient: direction === "backward" ? second?.hash ?? null : null,
    output: output?.hash ?? null,
    losses,
  };
}

export function workHash({ task, input, gradient, output, losses }: DoneWork): string {
  return sha256(JSON.stringify([task, input, gradient, output, losses]));
}
