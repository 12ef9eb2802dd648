/**
 * Inputs of a task that follow from its stage's shape and a number alone, so that any two devices can be given the same.
 *
 * Out of scope: real text and trained parameters (tests/lab/world/).
 */

import { encodeWire, type Wire } from "../../core/codec/wire.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import { keyOf, nextUint32, openStream } from "../../core/prng.ts";
import type { StageInput } from "../compute.ts";

const wireScale = 1;
const gradientScale = 1e-2;
const parameterScale = 0.1; // at this width; wider products add up more values, and must not saturate what follows
const scaledWidth = 32;
const gainScale = 0.3; // about 1

export interface TaskWork {
  readonly input: StageInput;
  readonly targets: Uint32Array; // of a tail
  readonly gradient: Uint8Array | null; // null: of a tail
}

export function taskWork(spec: StageSpec, index = 0): TaskWork {
  const { sequences, model: { contextLength, vocabSize } } = spec;
  const { input, outputGradient } = stageWires(spec);
  const tokensOf = (label: string) => {
    const stream = openStream(keyOf(0, "traced task", label, index));
    return Uint32Array.from({ length: sequences * contextLength }, () => nextUint32(stream) % vocabSize);
  };
  const wireOf = (wire: Wire, label: string, scale: number) =>
    encodeWire(wire, randomValues(wire.rows * wire.width, { label, index, scale }), tokensOf("tokens"));
  return {
    input: input === null
      ? { type: "tokens", tokens: tokensOf("tokens") }
      : { type: "wire", wire: wireOf(input, "input", wireScale) },
    targets: tokensOf("targets"),
    gradient: outputGradient === null ? null : wireOf(outputGradient, "gradient", gradientScale),
  };
}

/** No tensor is zero or one throughout, as at the start of training, where a wrong operation could go unseen. */
export function taskParameters(spec: StageSpec): Float32Array {
  const table = parameterTable(spec);
  const matrixScale = parameterScale * Math.min(1, Math.sqrt(scaledWidth / spec.model.width));
  const parameters = new Float32Array(table.length);
  for (const { name, shape, offset, size } of table.tensors) {
    const isGain = shape.length === 1;
    const values = randomValues(size, { label: name, index: 0, scale: isGain ? gainScale : matrixScale });
    for (let i = 0; i < size; i++) parameters[offset + i] = (isGain ? 1 : 0) + values[i]!;
  }
  return parameters;
}

/** Uniform in [-scale, scale). */
function randomValues(
  count: number,
  { label, index, scale }: { label: string; index: number; scale: number },
): Float32Array<ArrayBuffer> {
  const stream = openStream(keyOf(0, "traced task", label, index));
  return Float32Array.from({ length: count }, () => scale * (nextUint32(stream) / 2 ** 31 - 1));
}
