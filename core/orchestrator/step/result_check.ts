/**
 * Whether a task's result can be right, judged without computing it: shape, finite values, a plausible range.
 *
 * A misshapen result proves its sender wrong. An implausible one may be caused by the microbatch or by the stage, so
 * refusals.ts asks another replica first. A result that passes keeps the consumer's arithmetic far from overflow, so a
 * consumer has no reason to refuse it.
 */

import { present } from "../../assert.ts";
import { wireBytes, type WireScale } from "../../codec/wire.ts";
import type { BlobRef } from "../../ids.ts";
import { taskOutput } from "../../model/stage_wires.ts";
import type { TaskDone } from "../../protocol/message.ts";
import { replicasOf } from "../members/replicas.ts";
import { middleWires, trustedWires, wiresOf } from "./scale_book.ts";
import type { OrchestratorState } from "../state.ts";
import type { Doubt, WorkItem } from "./step_state.ts";

export interface TaskResult {
  readonly message: TaskDone;
  readonly segments: readonly BlobRef[];
  readonly scale: WireScale; // of the segments
}

type Judgement =
  | { readonly type: "fine" }
  | { readonly type: "misshapen"; readonly detail: string }
  | { readonly type: "implausible"; readonly doubt: Doubt };

const notFinite = "not finite, or its codes or token ids are invalid"; // badScale
const measures = [["largest", "largest"], ["rms", "root mean square"]] as const;
const wiresForRange = 4; // with fewer, the first range applies
const firstRange = 1024; // before training wires are below 10, gradients below 1
const leastRange = 1e-9; // a majority's zeros must not rule out every other value
/** Times the median of recent wires, up or down. Honest ones stay within 10 and 2.8. */
const mostGrowth = { largest: 64, rms: 16 };
const mostApart = 2; // two computations of one task differ by rounding
// Times the loss of a guess, ln(vocabulary size).
const mostGuesses = 3;
export const mostLoss = 1000; // nats; no honest replica exceeds this on any input

/** A large value that every replica reports comes from the stage; beyond this the stage has diverged. */
const mostShared = 2 ** 30;

/** Possible for an honest replica: a wire within its range may push a gradient out of range. */
export const isUsable = ({ value }: Doubt): boolean => value <= mostShared;

export function judgeResult(
  state: OrchestratorState,
  { item, result: { message, segments, scale } }: { item: WorkItem; result: TaskResult },
): Judgement {
  const misshapen = shapeProblem(state, { item, message, segments });
  if (misshapen !== null) return { type: "misshapen", detail: misshapen };
  for (const [measure, words] of measures) {
    const { least, most } = rangeOf(state, { item, measure });
    const value = scale[measure];
    if (segments.length === 0 || (value >= least && value <= most)) continue;
    const found = Number.isFinite(value) ? value.toPrecision(3) : notFinite;
    const range = `${least.toPrecision(3)} to ${most.toPrecision(3)}`;
    const detail = `The ${words} of ${message.task}'s values must be within ${range}, and is ${found}`;
    const excess = Math.max(value / most, least / value);
    return { type: "implausible", doubt: { measure, value, excess: Number.isNaN(excess) ? Infinity : excess, detail } };
  }
  const loss = largestLoss(message);
  const most = mostGuesses * Math.log(state.config.model.vocabSize);
  if (loss <= most) return { type: "fine" };
  const detail = `A loss of ${message.task} must be at most ${most.toFixed(1)}, and is ${loss}`;
  return { type: "implausible", doubt: { measure: "loss", value: loss, excess: loss / most, detail } };
}

const largestLoss = ({ losses }: TaskDone): number => Math.max(0, ...losses ?? []);

/**
 * Whether another result of the task matches the one in doubt. The range moves with every accepted wire, so nearly
 * equal honest results can be judged differently.
 */
export function confirms({ message, scale }: TaskResult, { measure, value }: Doubt): boolean {
  return isClose(value, measure === "loss" ? largestLoss(message) : scale[measure]);
}

export const isClose = (a: number, b: number): boolean =>
  Number.isFinite(a) && a <= mostApart * b && b <= mostApart * a;

function shapeProblem(
  state: OrchestratorState,
  { item, message, segments }: { item: WorkItem } & Pick<TaskResult, "message" | "segments">,
): string | null {
  const spec = present(state.stages[item.stage], "the item's stage exists");
  const wire = taskOutput(spec, item.direction);
  const expected = wire === null ? null : wireBytes(wire);
  const got = segments[0]?.bytes ?? null;
  if (segments.length > 1 || got !== expected) {
    return `The output of ${message.task} must have ${expected ?? 0} bytes, and has ${got ?? 0}`;
  }
  if (item.direction !== "turnaround") return null;
  const sequences = state.config.train.sequencesPerMicrobatch;
  const { losses } = message;
  if (losses === null || losses.length !== sequences || !losses.every((loss) => Number.isFinite(loss) && loss >= 0)) {
    return `${message.task} must report ${sequences} finite losses`;
  }
  return null;
}

/**
 * A wire of zeros is as bad as a huge one: the normalisation after it divides by almost zero, and the consumer's honest
 * gradient explodes. Of two replicas neither is a majority: values near either's wires are plausible.
 */
function rangeOf(
  state: OrchestratorState,
  { item: { stage, direction }, measure }: { item: WorkItem; measure: keyof WireScale },
): { least: number; most: number } {
  const wires = wiresOf(present(state.scales.stages[stage], "every stage has scales"), direction);
  const isOneWord = new Set(wires.map(({ node }) => node)).size < Math.min(2, replicasOf(state, stage).length);
  if (wires.length < wiresForRange || isOneWord) return { least: 1 / firstRange ** 2, most: firstRange };
  const { lower, upper } = middleWires(
    trustedWires(state.scales, { wires, validators: state.validators }),
    measure,
  );
  const growth = mostGrowth[measure];
  return { least: lower / growth, most: Math.min(mostShared, Math.max(leastRange, growth * upper)) };
}
