/**
 * AdamW on the device, over the ranges that its moments cover: all of a stage, or the tensors another optimizer leaves to it.
 */

import { present } from "../../../core/assert.ts";
import { wholePower } from "../../../core/exact_math.ts";
import type { StepOptions } from "../../compute.ts";
import type { Update } from "../../stage_vectors.ts";
import { groupsPerRow, workgroupGrid } from "../kernel.ts";
import { piecesOf, type UpdateParts } from "./gpu_parts.ts";
import adamw from "../wgsl/adamw.wgsl" with { type: "text" };

const lanes = 64; // the kernel's workgroup size
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

/** The Hyper struct of adamw.wgsl for the `steps`-th step, counted from 1. */
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
