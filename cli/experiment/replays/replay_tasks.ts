/** The same tasks computed again and again on one device, and what differs from their first results and from another device's. */

import { decodeWire, type Wire } from "../../../core/codec/wire.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { taskParameters, taskWork } from "../../../gpu/trace/task_inputs.ts";

/** What a task puts on its wires, as bytes, and its losses. */
export interface TaskResult {
  readonly output: Uint8Array | null; // forward; null: of a tail
  readonly gradient: Uint8Array | null; // backward; null: of a head
  readonly losses: Float32Array | null; // of a tail
}

export async function openTask(
  spec: StageSpec,
  open: (spec: StageSpec) => Promise<StageCompute>,
): Promise<StageCompute> {
  const stage = await open(spec);
  await stage.loadParameters(taskParameters(spec));
  return stage;
}

export async function computeTask(stage: StageCompute, index: number): Promise<TaskResult> {
  const { input, targets, gradient } = taskWork(stage.spec, index);
  if (gradient === null) {
    const { lossPerSequence, gradient: sent } = await stage.turnaround(input, targets);
    return { output: null, gradient: sent, losses: lossPerSequence };
  }
  const output = await stage.forward(input);
  return { output, gradient: await stage.backward(input, gradient), losses: null };
}

export function areEqual(one: TaskResult, other: TaskResult): boolean {
  const bytesOf = ({ losses }: TaskResult) => losses === null ? null : new Uint8Array(losses.buffer);
  return sameBytes(one.output, other.output) && sameBytes(one.gradient, other.gradient) &&
    sameBytes(bytesOf(one), bytesOf(other));
}

function sameBytes(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** Values of both wires, and how many of them differ after decoding. */
export function flips(spec: StageSpec, one: TaskResult, other: TaskResult): { values: number; flipped: number } {
  const { output, inputGradient } = stageWires(spec);
  const of = (wire: Wire | null, a: Uint8Array | null, b: Uint8Array | null) => {
    if (wire === null || a === null || b === null) return { values: 0, flipped: 0 };
    const [ours, theirs] = [decodeWire(wire, a), decodeWire(wire, b)];
    const flipped = ours.reduce((sum, value, i) => sum + (value === theirs[i] ? 0 : 1), 0);
    return { values: ours.length, flipped };
  };
  const [forward, backward] = [
    of(output, one.output, other.output),
    of(inputGradient, one.gradient, other.gradient),
  ];
  return { values: forward.values + backward.values, flipped: forward.flipped + backward.flipped };
}
