/**
 * The table of optimizers on the device: from a name to the update of a stage.
 */

import type { OptimizerName } from "../../../core/config/optimizer_names.ts";
import { buildMuon } from "../../optimizers/muon.ts";
import { GpuOrthogonalOps } from "../orthogonal_ops.ts";
import type { GradientNorm, Update, VectorParts } from "../../stage_vectors.ts";
import { assert, present } from "../../../core/assert.ts";
import { wholePower } from "../../../core/exact_math.ts";
import type { StepOptions } from "../../compute.ts";
import { groupsPerRow, workgroupGrid } from "../kernel.ts";
import adamw from "../wgsl/adamw.wgsl" with { type: "text" };
import { type VectorRange, wholeVector } from "../../../core/train/optimizer.ts";
import { cutRange } from "../../device_vector.ts";
import type { StageBuffers } from "../buffers.ts";
import type { Ops } from "../ops.ts";
import { partOf } from "../../stage_ops.ts";
import squareSum from "../wgsl/square_sum.wgsl" with { type: "text" };

interface UpdateParts extends VectorParts {
  readonly ops: Ops;
  readonly buffers: StageBuffers;
  readonly bindingBytes: number;
}

interface Piece extends VectorRange {
  readonly stateOffset: number;
}

/** Pieces fit one binding and one buffer and begin at multiples of 256 bytes. */
function piecesOf(
  covers: readonly VectorRange[],
  { bindingBytes, cuts }: { bindingBytes: number; cuts: readonly number[] },
): Piece[] {
  const most = Math.floor(bindingBytes / 1024) * 256; // floats
  assert(most > 0, `Cannot cut a vector as a binding must hold 1024 bytes: current value is ${bindingBytes}`);
  const pieces: Piece[] = [];
  let stateOffset = 0;
  for (const { offset, size } of covers.flatMap((range) => cutRange(range, cuts))) {
    for (let start = 0; start < size; start += most) {
      const length = Math.min(most, size - start);
      pieces.push({ offset: offset + start, size: length, stateOffset });
      stateOffset += length;
    }
  }
  return pieces;
}

export const updates: Readonly<Record<OptimizerName, (parts: UpdateParts) => Update>> = {
  adamw: buildAdamw,
  muon: (parts) => buildMuon({ ...parts, orthogonal: new GpuOrthogonalOps(parts.ops), rest: buildAdamw(parts) }),
};

/** AdamW over the ranges that its moments cover. */
const lanes = 64; // workgroup size
const hyperWords = 12; // Hyper of adamw.wgsl, padded to 16 bytes

export function buildAdamw({ ops: { kernels }, buffers, table, vectors, bindingBytes }: UpdateParts): Update {
  const first = present(vectors.state.get("firstMoments"), "AdamW keeps first moments");
  const second = present(vectors.state.get("secondMoments"), "AdamW keeps second moments");
  const hyper = buffers.uniform("hyper parameters", hyperWords * 4);
  const dispatches = piecesOf(first.covers, { bindingBytes, cuts: vectors.cuts }).map((piece) => {
    const ofState = { offset: piece.stateOffset, size: piece.size };
    const count = piece.size / 4; // vec4f
    const decaying = Math.min(Math.max(table.decayLength - piece.offset, 0) / 4, count);
    return kernels.dispatch({
      kernel: { label: "adamw", source: adamw },
      bindings: [
        vectors.parameters.part(piece),
        vectors.gradients.part(piece),
        first.vector.part(ofState),
        second.vector.part(ofState),
        hyper,
      ],
      constants: [count, decaying, groupsPerRow],
      workgroups: workgroupGrid(Math.ceil(count / lanes)),
    });
  });
  return { dispatches, uploads: (options, steps) => [{ range: hyper, values: hyperValues(options, steps) }] };
}

/** The Hyper struct of adamw.wgsl; `steps` counts from 1. */
function hyperValues(options: StepOptions, steps: number): Float32Array {
  const { learningRate, gradientScale, beta1, beta2, epsilon, weightDecay } = options;
  return Float32Array.of(
    learningRate,
    gradientScale,
    beta1,
    beta2,
    1 - beta1,
    1 - beta2,
    1 / (1 - wholePower(beta1, steps)),
    1 / (1 - wholePower(beta2, steps)),
    epsilon,
    learningRate * weightDecay,
    0,
    0,
  );
}

/** As partial sums for the host to add. */
const stripes = 4096; // STRIPES of square_sum.wgsl

export function buildGradientNorm({ ops, buffers, table, vectors, bindingBytes }: UpdateParts): GradientNorm {
  const pieces = piecesOf(wholeVector(table), { bindingBytes, cuts: vectors.cuts });
  const partialSums = buffers.storage("partial square sums", stripes * pieces.length);
  const dispatches = pieces.map((piece, i) =>
    ops.kernels.dispatch({
      kernel: { label: "square_sum", source: squareSum },
      bindings: [vectors.gradients.part(piece), partOf(partialSums, { offset: i * stripes, size: stripes })],
      constants: [piece.size / 4],
      workgroups: [stripes / lanes],
    })
  );
  return { dispatches, partialSums };
}
