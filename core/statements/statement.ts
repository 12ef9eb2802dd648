/**
 * What members sign with their hotkeys: validators' findings and miners' commitments, as canonical text.
 *
 * Owns the closed union and its text, which binds the run. A signature says nothing about any other run, round or task.
 * The text is JSON of a fixed list of values, so equal statements have equal bytes on every machine. A published form
 * never changes: signed logs outlive the protocol's version. Out of scope: keys and signatures, which the shell adds
 * (cli/node) and checks (cli/orchestrator, cli/observe/ledger).
 */

import type { BlobRef, Direction, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { ReplaySource } from "../protocol/message.ts";
import { sha256 } from "../sha256.ts";

/** A validator repeated a task. */
export interface TaskFinding {
  readonly type: "task";
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly work: string; // hash of the task's data: workHash
  readonly parameters: string; // that the validator repeated the task with: sourceName
  readonly innovationError: number;
  readonly equalShare: number;
  readonly lossError: number | null;
}

/** A validator added up the gradient of a miner's step. */
export interface GradientFinding {
  readonly type: "gradient";
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // the first one
  readonly parameters: string;
  readonly squareSum: number;
}

/** A validator evaluated held-out text. */
export interface ModelFinding {
  readonly type: "model";
  readonly round: number;
  readonly parameters: readonly string[]; // of every stage
  readonly loss: number | null; // null: not finite
  readonly tokens: number;
}

/** A miner commits its gradient of a step, and with it what it delivered in the step. */
export interface StepReceipt {
  readonly type: "step";
  readonly round: number;
  readonly step: number;
  readonly previous: string; // head of the chain over its earlier steps: work_chain.ts
  readonly root: string; // over what it delivered: work_tree.ts
  readonly tasks: number; // whose gradients it summed
  readonly squareSum: number; // of that gradient
}

/** A miner commits its payload, and with it all the steps that went into it. */
export interface RoundCommitment {
  readonly type: "round";
  readonly round: number;
  readonly head: string; // of the chain over its steps
  readonly payload: string; // hash over its slices, made by the shells
}

export type Statement = TaskFinding | GradientFinding | ModelFinding | StepReceipt | RoundCommitment;

/** A statement, and its claimed signer. */
export interface SignedStatement {
  readonly signer: NodeId;
  readonly statement: Statement;
  readonly signature: string; // 128 hexadecimal digits
}

/** In the signature field of a message before the sender's shell signs it. */
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

/** The content of parameters by name. */
export function sourceName(source: ReplaySource): string {
  if (source.type === "moved") return `${sourceName(source.from)} ${source.change.hash}`;
  return source.type === "initial" ? "initial" : source.parameters.hash;
}

/** A task's inputs and output, except for data that anyone can derive. */
export interface DoneWork {
  readonly task: TaskId;
  readonly input: string | null; // hash; null: token ids
  readonly gradient: string | null; // null: targets, or none
  readonly output: string | null; // null: none
  readonly losses: readonly number[] | null;
}

/** Token ids and targets follow from the microbatch, so their hashes are left out. */
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
