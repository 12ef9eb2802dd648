/** What a stage's calls of one shape need, and the sizes and means of what they return. */

import type { Wire } from "../core/codec/wire.ts";
import type { StageSpec } from "../core/model/spec.ts";
import { stageWires } from "../core/model/stage_wires.ts";
import type { StageDevice } from "./stage_device.ts";
import type { StageProgram } from "./stage_program.ts";
import { StageUploads } from "./stage_uploads.ts";

/** What a call of so many sequences needs. */
export interface Calls {
  readonly spec: StageSpec;
  readonly program: StageProgram; // the spare one
  readonly uploads: StageUploads;
  readonly output: Wire | null; // null at the tail
}

export function callsOf(
  spec: StageSpec,
  { program, buffers }: { program: StageProgram; buffers: StageDevice["buffers"] },
): Calls {
  return { spec, program, uploads: new StageUploads({ spec, buffers }), output: stageWires(spec).output };
}

export function largestReadBytes({ program: { wireIn, wireOut, head } }: Calls): number {
  const wires = [wireIn?.gradient.staged, wireOut?.value.staged];
  const sizes = [...wires, head?.sampling.logits].map((range) => range?.size ?? 0);
  return Math.max(...sizes) + (head?.losses.size ?? 0);
}

/** (B * T) to (B). */
export function meanPerSequence(
  losses: Float32Array,
  { sequences, model: { contextLength } }: StageSpec,
): Float32Array {
  return Float32Array.from({ length: sequences }, (_, sequence) => {
    const own = losses.subarray(sequence * contextLength, (sequence + 1) * contextLength);
    return own.reduce((sum, loss) => sum + loss, 0) / contextLength;
  });
}
