/**
 * Whether a task's result can be right, as far as the hub sees without computing it: shape, finite values, a plausible range.
 *
 * A misshapen result proves its sender wrong by itself. An implausible one (not finite, or far larger than what the stage's
 * replicas made of late) may have its cause in the microbatch or in the stage, so refusals.ts asks another replica first.
 * Whatever passes keeps the consumer's arithmetic far from overflow, so a consumer has no reason to refuse it.
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

export type Judgement =
  | { readonly type: "fine" }
  | { readonly type: "misshapen"; readonly detail: string }
  | { readonly type: "implausible"; readonly doubt: Doubt };

const measures = [["largest", "largest"], ["rms", "root mean square"]] as const;
const wiresForRange = 4; // below so many, the first range is all there is
const firstRange = 1024; // before training wires are below 10, gradients below 1
const leastRange = 1e-9; // zeros of a majority must not forbid every other value
/** Times the median of the last wires, or a part of it. Honest ones stay within 10 and 2.8, the largest also when the loss jumps. */
const mostGrowth = { largest: 64, rms: 16 };
const mostApart = 2; // two computations of one task differ by rounding
const mostGuesses = 3; // losses are at most a few times that of a guess, ln(vocabulary size), unless two replicas say so
export const mostLoss = 1000; // nats; no replica has more, whatever its input

/** When every replica says so, a large value is the stage's and not a liar's; beyond this the stage has diverged. */
const mostShared = 2 ** 30;

/** Whether an honest replica can have made it: a wire within its range may still put its consumer's gradient out of it. */
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
    const found = Number.isFinite(value) ? value.toPrecision(3) : "not finite";
    const range = `${least.toPrecision(3)} to ${most.toPrecision(3)}`;
    const detail = `Cannot take ${message.task} as the ${words} of its values must be within ${range}: it is ${found}`;
    const excess = Math.max(value / most, least / value);
    return { type: "implausible", doubt: { measure, value, excess: Number.isNaN(excess) ? Infinity : excess, detail } };
  }
  const loss = largestLoss(message);
  const most = mostGuesses * Math.log(state.config.model.vocabSize);
  if (loss <= most) return { type: "fine" };
  const detail = `Cannot take ${message.task} as a loss must be at most ${most.toFixed(1)}: current value is ${loss}`;
  return { type: "implausible", doubt: { measure: "loss", value: loss, excess: loss / most, detail } };
}

const largestLoss = ({ losses }: TaskDone): number => Math.max(0, ...losses ?? []);

/**
 * Whether another replica's result of the same task is like the one in doubt. What is plausible moves with every accepted wire, so
 * two honest replicas can be judged differently; their numbers are all but equal.
 */
export function confirms({ message, scale }: TaskResult, { measure, value }: Doubt): boolean {
  return isClose(value, measure === "loss" ? largestLoss(message) : scale[measure]);
}

/** Whether two finite numbers may be two computations of one. */
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
    return `Cannot take ${message.task} as its output must be ${expected ?? 0} bytes: current value is ${got ?? 0}`;
  }
  if (item.direction !== "turnaround") return null;
  const sequences = state.config.train.sequencesPerMicrobatch;
  const { losses } = message;
  if (losses === null || losses.length !== sequences || !losses.every((loss) => Number.isFinite(loss) && loss >= 0)) {
    return `Cannot take ${message.task} as it must report ${sequences} finite losses`;
  }
  return null;
}

/**
 * Of a wire's largest value, or of its root mean square. A wire of zeros is as bad as a huge one: the normalisation behind it divides by nearly nothing,
 * and the consumer's gradient, honestly computed, is out of all proportion. Of two replicas neither is a majority: what is
 * near either's wires is plausible, and the quicker one alone makes no range for the other.
 */
function rangeOf(
  state: OrchestratorState,
  { item: { stage, direction }, measure }: { item: WorkItem; measure: keyof WireScale },
): { least: number; most: number } {
  const wires = wiresOf(present(state.scales.stages[stage], "scales a stage"), direction);
  const isOneWord = new Set(wires.map(({ node }) => node)).size < Math.min(2, replicasOf(state, stage).length);
  if (wires.length < wiresForRange || isOneWord) return { least: 1 / firstRange ** 2, most: firstRange };
  const { lower, upper } = middleWires(trustedWires(state.scales, wires), measure);
  const growth = mostGrowth[measure];
  return { least: lower / growth, most: Math.min(mostShared, Math.max(leastRange, growth * upper)) };
}
