/**
 * Rebuilds a lost stage from its neighbours (CheckFree, arXiv 2506.15461): each layer is the mean of the nearest layers
 * before and after it, weighted by their stages' squared gradient norms. Other tensors restart from the seed. Float64
 * in a fixed order, rounded once, for the same bits everywhere.
 */

import { fillInitial } from "../model/initial.ts";
import type { ParameterTable, ParameterTensor } from "../model/spec.ts";

export interface Neighbour {
  readonly table: ParameterTable;
  readonly parameters: Float32Array;
  readonly weight: number; // squared norm of the last gradient
}

interface RestoreOptions {
  readonly table: ParameterTable;
  readonly seed: number;
  readonly neighbours: readonly Neighbour[]; // in order of stages
}

export function restoreStage(options: RestoreOptions): Float32Array<ArrayBuffer> {
  const restored = new Float32Array(options.table.length);
  fillRestored(options, 0, restored);
  return restored;
}

/** The part from `first` on; `restored` must be zero before. */
export function fillRestored(
  { table, seed, neighbours }: RestoreOptions,
  first: number,
  restored: Float32Array,
): void {
  fillInitial(table, { seed, first }, restored);
  for (const tensor of table.tensors) {
    const start = Math.max(first, tensor.offset);
    const end = Math.min(first + restored.length, tensor.offset + tensor.size);
    if (start >= end) continue;
    const sources = neighbours.flatMap((neighbour) => {
      const nearest = nearestTensor(neighbour.table, tensor);
      return nearest === null ? [] : [{ neighbour, nearest }];
    });
    const whole = sources.reduce((sum, { neighbour }) => sum + neighbour.weight, 0);
    if (sources.length === 0) continue;
    for (let i = start; i < end; i++) {
      let sum = 0;
      for (const { neighbour, nearest } of sources) {
        const share = whole > 0 ? neighbour.weight / whole : 1 / sources.length;
        sum += share * neighbour.parameters[nearest.offset + i - tensor.offset]!;
      }
      restored[i - first] = sum;
    }
  }
}

const layerName = /^model\.layers\.(\d+)\.(.+)$/;

/** The corresponding tensor of the nearest layer. */
function nearestTensor(table: ParameterTable, tensor: ParameterTensor): ParameterTensor | null {
  const wanted = layerName.exec(tensor.name);
  if (wanted === null) return null;
  let best: { tensor: ParameterTensor; distance: number } | null = null;
  for (const candidate of table.tensors) {
    const found = layerName.exec(candidate.name);
    if (found === null || found[2] !== wanted[2] || candidate.size !== tensor.size) continue;
    const distance = Math.abs(Number(found[1]) - Number(wanted[1]));
    if (distance < (best?.distance ?? Infinity)) best = { tensor: candidate, distance };
  }
  return best?.tensor ?? null;
}
