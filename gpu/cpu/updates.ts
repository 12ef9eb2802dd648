/** Optimizers on the processor, and the squared norm of the accumulated gradient. */

import { present } from "../../core/assert.ts";
import { wholePower } from "../../core/exact_math.ts";
import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import type { StepOptions } from "../compute.ts";
import { buildMuon } from "../optimizers/muon.ts";
import { cutRange } from "../device_vector.ts";
import type { GradientNorm, Update, VectorParts } from "../stage_vectors.ts";
import { type CpuDispatch, jobDispatch } from "./cpu_dispatch.ts";
import { kernelJob } from "./jobs/kernel_job.ts";
import type { CpuMemory } from "./layout/memory.ts";
import type { CpuOps } from "./ops.ts";
import { CpuOrthogonalOps } from "./orthogonal_ops.ts";
import type { Team } from "./threads/team.ts";

interface CpuParts extends VectorParts {
  readonly memory: CpuMemory;
  readonly team: Team;
  readonly ops: CpuOps;
}

export const cpuUpdates: Readonly<Record<OptimizerName, (parts: CpuParts) => Update>> = {
  adamw: buildAdamw,
  muon: (parts) => {
    const { memory, team } = parts;
    const orthogonal = new CpuOrthogonalOps(team);
    return buildMuon({ ...parts, buffers: memory, orthogonal, rest: buildAdamw(parts) });
  },
};

const hyperWords = 12;
const decayAt = 9; // learning rate x weight decay
const noDecayAt = 10; // a zero
const bytesOfUnit = 4096;
const unitNs = 3_000;

function buildAdamw({ memory, team, table, vectors }: CpuParts): Update {
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
      const ranges = [
        vectors.parameters.part(part),
        vectors.gradients.part(part),
        first.vector.part(ofState),
        second.vector.part(ofState),
      ];
      const job = kernelJob({
        name: "adamw",
        moving: ranges.map(({ offset }) => [offset, bytesOfUnit]),
        count: { total: 4 * part.size, ofUnit: bytesOfUnit },
        ...{ rest: [hyper.offset, hyper.offset + 4 * (decays ? decayAt : noDecayAt)], unitNs },
      });
      dispatches.push(jobDispatch(team, "adamw", job));
    }
    stateOffset += size;
  }
  return { dispatches, uploads: (options, steps) => [{ range: hyper, values: hyperValues(options, steps) }] };
}

/** In the `adamw` kernel's order; `steps` counts from 1. */
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

const chunkBytes = 16_384; // a lane sums 1,024 squares before float64 takes over
const chunkNs = 2_000;

export function buildGradientNorm({ memory, team, table, vectors }: CpuParts): GradientNorm {
  const pieces = vectors.gradients.pieces({ offset: 0, size: table.length });
  const chunksOf = (size: number) => Math.ceil(4 * size / chunkBytes);
  const partialSums = memory.storage(
    "partial square sums",
    4 * pieces.reduce((sum, { size }) => sum + chunksOf(size), 0),
  );
  let to = partialSums.offset;
  const dispatches = pieces.map(({ range, size }) => {
    const job = kernelJob({
      name: "squareSum",
      moving: [[range.offset, chunkBytes], [to, 16]],
      ...{ count: { total: 4 * size, ofUnit: chunkBytes }, rest: [chunkBytes], unitNs: chunkNs },
    });
    to += 16 * chunksOf(size);
    return jobDispatch(team, "square sum", job);
  });
  return { dispatches, partialSums };
}
