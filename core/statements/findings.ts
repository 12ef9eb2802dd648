/** The statement in a message that needs a signature, from what sender and orchestrator each know of its subject. */

import type { NodeId, TaskId } from "../ids.ts";
import type { NodeMessage } from "../protocol/message.ts";
import type { Statement } from "./statement.ts";

export type Subject =
  | {
    readonly type: "task";
    readonly round: number;
    readonly miner: NodeId;
    readonly task: TaskId;
    readonly work: string;
    readonly parameters: string;
  }
  | {
    readonly type: "gradient";
    readonly round: number;
    readonly step: number;
    readonly miner: NodeId;
    readonly task: TaskId;
    readonly parameters: string;
  }
  | { readonly type: "model"; readonly round: number; readonly parameters: readonly string[] }
  | { readonly type: "step"; readonly round: number; readonly previous: string }
  | { readonly type: "round" };

/** Null: the message does not answer the subject. */
export function statementOf(subject: Subject, message: NodeMessage): Statement | null {
  switch (subject.type) {
    case "task": {
      if (message.type !== "replayed") return null;
      const { innovationError, equalShare, lossError } = message;
      return { ...subject, innovationError, equalShare, lossError };
    }
    case "gradient":
      if (message.type !== "gradientRepeated" || message.squareSum === null) return null;
      return { ...subject, squareSum: message.squareSum };
    case "model":
      if (message.type !== "evaluated") return null;
      return { ...subject, loss: message.loss, tokens: message.tokens };
    case "step": {
      if (message.type !== "stepSealed") return null;
      const { step, root, tasks, gradientSquareSum: squareSum } = message;
      return { ...subject, step, root, tasks, squareSum };
    }
    case "round": {
      if (message.type !== "payloadCommitted") return null;
      const { round, head, payload } = message;
      return { type: "round", round, head, payload };
    }
  }
}
