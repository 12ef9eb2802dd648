/**
 * The squared norm of a stage's accumulated gradient, as partial sums for the host to add.
 */

import { wholeVector } from "../../../core/train/optimizer.ts";
import { partOf } from "../../stage_ops.ts";
import type { GradientNorm } from "../../stage_vectors.ts";
import { piecesOf, type UpdateParts } from "./gpu_parts.ts";
import squareSum from "../wgsl/square_sum.wgsl" with { type: "text" };

const lanes = 64; // the kernel's workgroup size
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
