/**
 * Moves a large stage between this thread and its device in parts, so that links are served in between and neither side
 * holds a second copy.
 */

import { vectorBytes } from "../../../core/model/vector_bytes.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import type { OnLoading } from "./stage_source.ts";

const partFloats = 2 ** 20; // 4 MiB
const reportMs = 5_000; // between reports

/** Also zeroes the gradients. */
export async function placeParameters(
  compute: StageCompute,
  parameters: Float32Array,
  onLoading: OnLoading,
): Promise<void> {
  const total = parameters.byteLength;
  for (let offset = 0; offset < parameters.length; offset += partFloats) {
    const values = parameters.subarray(offset, offset + partFloats);
    await compute.writePart("parameters", { offset, values });
    onLoading("placing", { done: vectorBytes(offset + values.length), total });
  }
  await compute.zeroGradients();
}

export async function readParameters(
  compute: StageCompute,
  { offset, length }: { offset: number; length: number },
): Promise<Float32Array> {
  const values = new Float32Array(length);
  for (let at = 0; at < length; at += partFloats) {
    const part = { offset: offset + at, length: Math.min(partFloats, length - at) };
    values.set(await compute.readPart("parameters", part), at);
  }
  return values;
}

/** At most every five seconds, and not in the first five. */
export function throttled(onLoading: OnLoading, nowMs: () => number): OnLoading {
  let lastMs = nowMs();
  return (part, bytes) => {
    const now = nowMs();
    if (now - lastMs < reportMs) return;
    lastMs = now;
    onLoading(part, bytes);
  };
}
