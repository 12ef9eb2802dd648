/**
 * What a broken or hostile node puts on the wire: results of the wrong size, non-finite numbers, bursts of stale messages.
 *
 * Owns the shapes of wrong messages, all of a kind that the orchestrator must refuse or ignore without harm. Out of scope:
 * payloads that name unstored blobs, which harm only the miners asked to reduce them and are the store's concern.
 */

import type { BlobRef } from "../../../../core/ids.ts";
import { fault } from "../../../../core/fault.ts";
import { microbatchId, stageIndex, taskId } from "../../../../core/ids.ts";
import type { NodeMessage } from "../../../../core/protocol/message.ts";
import type { Dice } from "../dice.ts";
import { digest } from "../digest.ts";

export interface Garbage {
  left: number; // messages to spoil
}

export interface Outgoing {
  readonly message: NodeMessage;
  readonly segments: readonly BlobRef[];
}

/** The message with something wrong in it, while `garbage` lasts. */
export function spoil(outgoing: Outgoing, garbage: Garbage): Outgoing {
  const { message, segments } = outgoing;
  if (garbage.left === 0) return outgoing;
  switch (message.type) {
    case "taskDone": {
      garbage.left -= 1;
      const cut = segments.map((ref) => ({ ...ref, bytes: ref.bytes - 4 }));
      if (message.losses === null || garbage.left % 2 === 0) return { message, segments: cut };
      return { message: { ...message, losses: message.losses.map(() => NaN) }, segments };
    }
    case "stepSealed":
      garbage.left -= 1;
      return { message: { ...message, gradientSquareSum: garbage.left % 2 === 0 ? NaN : -1 }, segments };
    case "payloadCommitted":
      garbage.left -= 1;
      return { message: { ...message, slices: message.slices.slice(1) }, segments };
    default:
      return outgoing;
  }
}

const shapes = 9;

/** One message of a flood: well-formed, about something long over or never requested. */
export function staleMessage(dice: Dice, progress: { step: number; round: number; microbatch: number }): Outgoing {
  const round = Math.max(0, progress.round - 1 - dice.below(3));
  const ref: BlobRef = { hash: digest("stale", dice.below(64)), bytes: 64 };
  const task = taskId({
    microbatch: microbatchId(dice.below(progress.microbatch + 1)),
    stage: stageIndex(dice.below(4)),
    direction: dice.pick(["forward", "backward", "turnaround"]),
    attempt: 100 + dice.below(4),
  });
  const plain = (message: NodeMessage): Outgoing => ({ message, segments: [] });
  switch (dice.below(shapes)) {
    case 0:
      return { message: { type: "taskDone", task, losses: null, computeMs: 1 }, segments: [ref] };
    case 1:
      return plain({ type: "taskFailed", task, fault: fault("badBlob", "flood") });
    case 2:
      return plain({
        type: "stepSealed",
        step: Math.max(0, progress.step - 1),
        request: 1,
        tasks: 1,
        gradientSquareSum: 1,
        ...{ root: "", signature: "" },
      });
    case 3:
      return progress.round === 0 ? plain({ type: "ready", assignment: 0, parameters: ref }) : plain({
        type: "payloadCommitted",
        round,
        slices: [ref],
        ...{ payload: "", head: "", signature: "" },
      });
    case 4:
      return plain({ type: "sliceReduced", round: progress.round, edition: 1, slice: 1_000_000, result: ref });
    case 5:
      return plain({ type: "ready", assignment: 0, parameters: ref });
    case 6:
      return plain({ type: "evaluated", request: 1_000_000 + dice.below(10), loss: 1, tokens: 1, signature: "" });
    case 7:
      return plain({ type: "parametersUploaded", round, parameters: ref, momentum: null });
    default:
      return plain({ type: "requestFailed", request: 1_000_000 + dice.below(10), fault: fault("badBlob", "flood") });
  }
}
