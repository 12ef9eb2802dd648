/** Attention and rotary positions, in place on the fused q, k and v. */

import { type AttentionSizes, qkvWidth } from "../attention_sizes.ts";
import {
  attentionForwardSource,
  attentionKeyValueGradientSource,
  attentionQueryGradientSource,
} from "./generate/attention.ts";
import {
  tiledForwardSource,
  tiledKeyValueGradientSource,
  tiledQueryGradientSource,
  widestTiled,
} from "./generate/attention_tiled.ts";
import { fullDevice } from "./generate/gemm_settings.ts";
import { type DispatchOptions, floatBits, type Kernels } from "./kernel.ts";
import type { AttentionGradientTensors, AttentionTensors, BufferRange, Dispatch } from "../stage_ops.ts";
import rope from "./wgsl/rope.wgsl" with { type: "text" };

export function rotate(
  kernels: Kernels,
  sizes: AttentionSizes & { direction: 1 | -1 },
  tensors: { table: BufferRange; qkv: BufferRange },
): Dispatch {
  const { sequences, length, heads, kvHeads, headWidth, direction } = sizes;
  const halfVectors = headWidth / 8;
  const pairs = (heads + kvHeads) * halfVectors;
  return kernels.dispatch({
    kernel: { label: "rope", source: rope },
    bindings: [tensors.table, tensors.qkv],
    constants: [length, qkvWidth(sizes) / 4, halfVectors, pairs, floatBits(direction)],
    workgroups: [Math.ceil(pairs / 32), sequences * length],
  });
}

/**
 * `direct`: lanes share the addresses that they read (software adapters: barriers cost there). `tiled`: several rows
 * `together`, through workgroup memory (real GPUs).
 */
export type AttentionSettings =
  | { readonly family: "direct"; readonly lanes: number } // per workgroup, a row each
  | { readonly family: "tiled"; readonly together: number };

const tiledLanes = [128, 64] as const; // more share what they read; results do not depend on it

/** The most rows that still fill a device. */
function lanesFor(settings: AttentionSettings, { sequences, length, kvHeads }: AttentionSizes): number {
  if (settings.family === "direct") return settings.lanes;
  const [most, least] = tiledLanes;
  return Math.ceil(length / most) * kvHeads * sequences >= fullDevice ? most : least;
}

type Of = Omit<DispatchOptions, "kernel">;

/** Tiles of very wide heads do not fit. */
const settingsFor = (settings: AttentionSettings, { headWidth }: AttentionSizes): AttentionSettings =>
  settings.family === "tiled" && headWidth > widestTiled(settings) ? { family: "direct", lanes: 64 } : settings;

interface AttentionKernels {
  readonly kernels: Kernels;
  readonly settings: AttentionSettings;
}

export function attention(
  { kernels, settings: wanted }: AttentionKernels,
  sizes: AttentionSizes,
  tensors: AttentionTensors,
): Dispatch {
  const settings = settingsFor(wanted, sizes);
  const { sequences, length, heads, headWidth } = sizes;
  const lanes = lanesFor(settings, sizes);
  const source = settings.family === "direct"
    ? attentionForwardSource({ headWidth, lanes })
    : tiledForwardSource({ headWidth, lanes, together: settings.together });
  return kernels.dispatch({
    kernel: { label: "attention", source },
    bindings: [tensors.qkv, tensors.output, tensors.logSumExp],
    constants: shapeWords(sizes),
    workgroups: [Math.ceil(length / lanes), heads, sequences],
  });
}

export function attentionBackward(
  { kernels, settings: wanted }: AttentionKernels,
  sizes: AttentionSizes,
  tensors: AttentionGradientTensors,
): Dispatch[] {
  const settings = settingsFor(wanted, sizes);
  const { sequences, length, heads, kvHeads, headWidth } = sizes;
  const { qkv, output, logSumExp, outputGradient, delta, qkvGradient } = tensors;
  const lanes = lanesFor(settings, sizes);
  const groups = Math.ceil(length / lanes);
  const constants = shapeWords(sizes);
  const ofQueries: Of = {
    bindings: [qkv, output, outputGradient, logSumExp, delta, qkvGradient],
    constants,
    workgroups: [groups, heads, sequences],
  };
  const ofKeys: Of = {
    bindings: [qkv, outputGradient, logSumExp, delta, qkvGradient],
    constants,
    workgroups: [groups, kvHeads, sequences],
  };
  const dispatch = (label: string, source: string, options: Of) =>
    kernels.dispatch({ kernel: { label: `attention ${label}`, source }, ...options });
  if (settings.family === "direct") {
    return [
      dispatch("dq", attentionQueryGradientSource({ headWidth, lanes }), ofQueries),
      dispatch("dkv", attentionKeyValueGradientSource({ headWidth, lanes }), ofKeys),
    ];
  }
  const tiled = { headWidth, lanes, together: settings.together };
  return [
    dispatch("dq", tiledQueryGradientSource(tiled), ofQueries),
    dispatch("dk", tiledKeyValueGradientSource({ ...tiled, side: "key" }), ofKeys),
    dispatch("dv", tiledKeyValueGradientSource({ ...tiled, side: "value" }), {
      ...ofKeys,
      bindings: [qkv, outputGradient, logSumExp, qkvGradient],
    }),
  ];
}

function shapeWords({ length, heads, kvHeads, headWidth }: AttentionSizes): number[] {
  const group = heads / kvHeads;
  return [length, heads, kvHeads, group, Math.ceil(65536 / group), floatBits(1 / Math.sqrt(headWidth))];
}
