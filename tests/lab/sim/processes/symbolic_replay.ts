/**
 * A task or a gradient repeated on symbolic tensors, by a validator or by the orchestrator: right to the last bit, or
 * wrong.
 */

import { present } from "../../../../core/assert.ts";
import type { BlobRef } from "../../../../core/ids.ts";
import type { ReplaySource } from "../../../../core/protocol/message.ts";
import type { RefereedRepetition } from "../../../../core/score/verdict.ts";
import type { GradientWork, ReplayWork } from "../../../../core/validator/replay_work.ts";
import { firstStepOf, type SwarmShape } from "../swarm_shape.ts";
import { noGradient, squareSumOf, type SymbolicGradient, withTask } from "./symbolic_gradient.ts";
import { parseShown, taskResult, vectorsOf } from "./symbolic_stage.ts";

export function symbolicReplay(shape: SwarmShape, work: ReplayWork): RefereedRepetition {
  const { parameters, steps } = startOf(shape, work);
  const { output, losses } = taskResult({
    spec: present(shape.stages[work.stage], "the replayed stage exists"),
    work,
    parameters,
    steps,
  });
  const isEqual = output?.hash === work.claimed?.hash;
  const lossError = losses === null || work.losses === null
    ? null
    : Math.max(...losses.map((loss, i) => Math.abs(loss - (work.losses?.[i] ?? Infinity))));
  const error = isEqual ? 0 : 1;
  return { innovationError: error, equalShare: 1 - error, lossError, beyondRounding: error, rounding: 0 };
}

/** `before`: what the parts before have added up to. The norm is that of all tasks so far. */
export function symbolicSum(
  shape: SwarmShape,
  { work, before }: { work: GradientWork; before: SymbolicGradient },
): { gradient: SymbolicGradient; squareSum: number } {
  const { direction } = work;
  const { parameters, steps } = startOf(shape, work);
  const gradient = work.tasks.reduce(
    (sum, { input, second }) => withTask(sum, { task: { direction, input, second }, parameters }),
    work.first === 0 ? noGradient : before,
  );
  return { gradient, squareSum: squareSumOf(gradient, steps) };
}

/** What the work began with: parameters that were shown, or the round's. */
function startOf(shape: SwarmShape, { source, stage, round }: ReplayWork | GradientWork) {
  if (source.type !== "moved") return { ...vectorsOf(source, { shape, stage }), steps: firstStepOf(round, shape) };
  return present(parseShown(source.change.hash), "a change names the parameters that it leads to");
}

/** What is fetched of a source by those who only compute with it: no outer momentum. */
export function readOf(source: ReplaySource): BlobRef[] {
  if (source.type === "moved") return [...readOf(source.from), source.change];
  return source.type === "initial" ? [] : [source.parameters];
}
