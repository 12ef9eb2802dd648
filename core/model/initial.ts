/**
 * The initial parameters. A value depends only on (seed, tensor name, index), so a tensor starts the same however the
 * model is cut. Integers and correctly rounded operations only, for the same bits everywhere. Padding stays zero.
 */

import { unreachable } from "../assert.ts";
import { keyOf, philox } from "../prng.ts";
import type { ParameterTable, ParameterTensor } from "./spec.ts";

/**
 * Normal by a sum of eight uniform 16-bit integers (one Philox block), centred and scaled to the exact variance: excess
 * kurtosis -0.15, largest |z| = sqrt(24) = 4.9.
 */
const summands = 8;
const sumMean = summands * 65535 / 2;
const sumStd = Math.sqrt(summands * (65536 ** 2 - 1) / 12);

export function initialParameters(table: ParameterTable, seed: number): Float32Array<ArrayBuffer> {
  const parameters = new Float32Array(table.length);
  fillInitial(table, { seed, first: 0 }, parameters);
  return parameters;
}

/** The part from `first` on; `values` must be zero before. */
export function fillInitial(
  table: ParameterTable,
  { seed, first }: { seed: number; first: number },
  values: Float32Array,
): void {
  for (const tensor of table.tensors) {
    const start = Math.max(first, tensor.offset);
    const end = Math.min(first + values.length, tensor.offset + tensor.size);
    if (start >= end) continue;
    fillTensor(tensor, { seed, index: start - tensor.offset }, values.subarray(start - first, end - first));
  }
}

function fillTensor(
  tensor: ParameterTensor,
  { seed, index }: { seed: number; index: number },
  values: Float32Array,
): void {
  switch (tensor.initial.type) {
    case "ones":
      values.fill(1);
      return;
    case "normal":
      fillNormal({ name: tensor.name, seed, std: tensor.initial.std, index }, values);
      return;
    default:
      unreachable(tensor.initial);
  }
}

function fillNormal(
  source: { name: string; seed: number; std: number; index: number },
  values: Float32Array,
): void {
  const key = keyOf(source.seed, "parameter", source.name);
  const scale = source.std / sumStd;
  const block = new Uint32Array(4);
  const counter: [number, number, number, number] = [0, 0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    counter[0] = source.index + i;
    philox(counter, key, block);
    const a = block[0]!, b = block[1]!, c = block[2]!, d = block[3]!;
    const sum = (a & 0xffff) + (a >>> 16) + (b & 0xffff) + (b >>> 16) +
      (c & 0xffff) + (c >>> 16) + (d & 0xffff) + (d >>> 16);
    values[i] = (sum - sumMean) * scale;
  }
}
