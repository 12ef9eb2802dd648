/**
 * Optimizers on the processor by name, and the squared norm of the accumulated gradient.
 */

import { present } from "../../core/assert.ts";
import { wholePower } from "../../core/exact_math.ts";
import type { OptimizerName } from "../../core/train/optimizer_names.ts";
import type { StepOptions } from "../compute.ts";
import { buildMuon } from "../optimizers/muon.ts";
import { cutRange } from "../device_vector.ts";
import type { GradientNorm, Update, VectorParts } from "../stage_vectors.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuMemory } from "./memory.ts";
import type { CpuOps } from "./ops.ts";
import { CpuOrthogonalOps } from "./orthogonal_ops.ts";

export interface CpuParts extends VectorParts {
  readonly memory: CpuMemory;
  readonly kernels: CpuKernels;
  readonly ops: CpuOps;
}

export const cpuUpdates: Readonly<Record<OptimizerName, (parts: CpuParts) => Update>> = {
  adamw: buildAdamw,
  muon: (parts) => {
    const { memory, kernels } = parts;
    const orthogonal = new CpuOrthogonalOps(memory, kernels);
    return buildMuon({ ...parts, buffers: memory, orthogonal, rest: buildAdamw(parts) });
  },
};

const hyperWords = 12;
const decayAt = 9; // of the learning rate times the weight decay

function buildAdamw({ memory, kernels, table, vectors }: CpuParts): Update {
  const first = present(vectors.state.get("firstMoments"), "AdamW keeps first moments");
  const second = present(vectors.state.get("secondMoments"), "AdamW keeps second moments");
  const hyper = memory.storage("hyper parameters", hyperWords);
  const dispatches: CpuDispatch[] = [];
  let stateOffset = 0;
  for (const { offset, size } of first.covers.flatMap((range) => cutRange(range, vectors.cuts))) {
    const decaying = Math.min(Math.max(table.decayLength - offset, 0), size);
    for (const [start, end, decays] of [[0, decaying, true], [decaying, size, false]] as const) {
      if (start === end) continue;
      const part = { offset: offset + start, size: end - start };
      const ofState = { offset: stateOffset + start, size: end - start };
      const addresses = [
        vectors.parameters.part(part).offset,
        vectors.gradients.part(part).offset,
        first.vector.part(ofState).offset,
        second.vector.part(ofState).offset,
      ];
      const run = () => {
        const decay = decays ? memory.floats(hyper)[decayAt]! : 0;
        kernels.adamw(...addresses, 4 * part.size, hyper.offset, decay);
      };
      dispatches.push({ label: "adamw", run });
    }
    stateOffset += size;
  }
  return { dispatches, uploads: (options, steps) => [{ range: hyper, values: hyperValues(options, steps) }] };
}

/** The numbers of the `adamw` kernel, in its order, for the `steps`-th step, counted from 1. */
function hyperValues(options: StepOptions, steps: number): Float32Array {
  const { learningRate, gradientScale, beta1, beta2, epsilon, weightDecay } = options;
  return Float32Array.of(
    ...[learningRate, gradientScale, beta1, beta2, 1 - beta1, 1 - beta2],
    ...[
      1 / (1 - wholePower(beta1, steps)),
      1 / (1 - wholePower(beta2, steps)),
      epsilon,
      learningRate * weightDecay,
      0,
      0,
    ],
  );
}

const chunkFloats = 4096; // four lanes sum up to 1,024 squares each before float64 takes over

export function buildGradientNorm({ memory, kernels, table, vectors }: CpuParts): GradientNorm {
  const chunks = vectors.gradients.pieces({ offset: 0, size: table.length }).flatMap(({ range, size }) =>
    Array.from({ length: Math.ceil(size / chunkFloats) }, (_, i) => ({
      address: range.offset + 4 * i * chunkFloats,
      bytes: 4 * Math.min(chunkFloats, size - i * chunkFloats),
    }))
  );
  const partialSums = memory.storage("partial square sums", 4 * chunks.length);
  const run = () => {
    for (const [i, { address, bytes }] of chunks.entries()) {
      kernels.squareSum(address, partialSums.offset + 16 * i, bytes);
    }
  };
  const dispatch: CpuDispatch = { label: "square sum", run };
  return { dispatches: [dispatch], partialSums };
}
