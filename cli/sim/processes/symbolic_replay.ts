/** A task repeated on symbolic tensors, by a validator or by the hub: right to the last bit, or wrong. */

import { present } from "../../../core/assert.ts";
import type { RefereedRepetition } from "../../../core/score/verdict.ts";
import type { ReplayWork } from "../../../core/validator/replay_work.ts";
import { firstStepOf, type SwarmShape } from "../swarm_shape.ts";
import { parseShown, taskResult, vectorsOf } from "./symbolic_stage.ts";

export function symbolicReplay(shape: SwarmShape, work: ReplayWork): RefereedRepetition {
  const shown = work.source.type === "blobs" ? parseShown(work.source.parameters.hash) : null;
  const { parameters, steps } = shown ??
    { ...vectorsOf(work.source, { shape, stage: work.stage }), steps: firstStepOf(work.round, shape) };
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
