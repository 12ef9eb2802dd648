/**
 * The largest header that an honest node of a run sends; the orchestrator reads no larger one.
 *
 * Three messages grow with the run: a payload's slices (`payloadCommitted`), the tasks in a gradient (`join`), the
 * losses of a microbatch (`taskDone`). The bound is doubled: too tight a bound loses honest work, and twice the bound
 * costs only a millisecond.
 */

import type { RunConfig } from "../core/config/config.ts";
import { boundaryParameters } from "../core/model/spec.ts";
import { modelParameters } from "../core/model/shape.ts";
import { mostSlicesOf } from "../core/update/butterfly.ts";

interface HeaderBound {
  readonly bytes: number;
  readonly values: number;
}

const plainBytes = 8 * 1024; // a sentence of 1,024 characters, three bytes each, and names
const plainValues = 64;
const blobRefBytes = 96; // 64 hexadecimal digits, a size and two keys
const blobRefValues = 5;
const taskBytes = 52; // four numbers and a word
const lossBytes = 9;

export function largestNodeHeader(config: RunConfig): HeaderBound {
  const boundaries = 2 * boundaryParameters(config); // both sides of a stage, twice
  const slices = mostSlicesOf(modelParameters(config.model) + boundaries); // as if there were one stage
  const tasks = 2 * config.train.microbatchesPerStep; // each handed out twice at most
  const losses = config.train.sequencesPerMicrobatch;
  const bytes = plainBytes + Math.max(slices * blobRefBytes, tasks * taskBytes, losses * lossBytes);
  const values = plainValues + Math.max(slices * blobRefValues, tasks, losses);
  return { bytes: 2 * bytes, values: 2 * values };
}
