/** A stage's payloads combined: by their mean, or by this program's rules for a payload among its peers (payload_weights.ts, payload_check.ts). */

import { present } from "../../../core/assert.ts";
import type { NodeId } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { averageSlices } from "../../../core/merge/average.ts";
import { peakSizes } from "../../../core/merge/matrix_peaks.ts";
import { ShapeSum } from "../../../core/merge/payload_shape.ts";
import type { ParameterTensor } from "../../../core/model/spec.ts";
import { lengthScale } from "../../../core/orchestrator/merge/payloads/payload_check.ts";
import { countPayloads } from "../../../core/orchestrator/merge/payloads/payload_weights.ts";
import { lowerMedian } from "../../../core/lower_median.ts";

export const combineRules = ["mean", "here"] as const;
export type CombineRule = typeof combineRules[number];

export interface Combined {
  readonly average: Float32Array;
  readonly scales: readonly number[]; // in the order of the payloads; 0: left out
}

export function combine(
  payloads: readonly Float32Array[],
  { rule, tensors, sketchKey }: { rule: CombineRule; tensors: readonly ParameterTensor[]; sketchKey: number },
): Combined {
  const scales = rule === "mean" ? payloads.map(() => 1) : scalesOf(payloads, { tensors, sketchKey });
  const counted = payloads.flatMap((input, i) => scales[i]! > 0 ? [{ input, scale: scales[i]! }] : []);
  const average = averageSlices({
    inputs: counted.map(({ input }) => input),
    weights: counted.map(() => 1),
    scales: counted.map(({ scale }) => scale),
  });
  if (!average.ok) throw new Error(average.fault.detail);
  return { average: average.value, scales };
}

/** The usual length is that of the middle payload, without the stage's history, which an orchestrator has. */
function scalesOf(
  payloads: readonly Float32Array[],
  { tensors, sketchKey }: { tensors: readonly ParameterTensor[]; sketchKey: number },
): number[] {
  const weighed = payloads.map((values, i) => {
    const sum = new ShapeSum(tensors, sketchKey);
    atOnce(sum.add(values, 0));
    const length = Math.sqrt(values.reduce((squares, value) => squares + value ** 2, 0));
    return { node: `${i}` as NodeId, weight: 1, length, shape: sum.finish(), trail: null };
  });
  const reference = present(lowerMedian(weighed.map(({ length }) => length)), "there are payloads");
  const sizes = tensors.map(({ size }) => size);
  const measures = { sizes, peakSizes: peakSizes(tensors), reference, density: 1 };
  const counted = countPayloads(weighed, measures);
  return weighed.map(({ node, length }) =>
    Math.min(present(counted.get(node), "every payload counts"), lengthScale(length, reference))
  );
}
