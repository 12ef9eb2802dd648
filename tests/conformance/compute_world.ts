/**
 * The compute suite's inputs for a stage, and its comparison of numbers.
 *
 * Owns the table of stage shapes, the random inputs (wires, gradients, tokens: the same for every implementation), the
 * perturbed parameters and the tolerances with their reasons.
 */

import { assert } from "@std/assert";
import type { Codec, GradientBits } from "../../core/codec/codec_names.ts";
import { decodeWire, encodeWire, type Wire, wireRounding } from "../../core/codec/wire.ts";
import type { ModelShape } from "../../core/model/shape.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { StageInput } from "../../gpu/compute.ts";
import { noise } from "../support/finite_difference.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

export interface ComputeCase {
  readonly name: string;
  readonly spec: StageSpec;
}

interface Shape {
  readonly codec?: Codec;
  readonly boundaries?: string;
  readonly gradientBits?: GradientBits;
  readonly sideWidth?: number;
  readonly layersOfStages: readonly number[];
  readonly stage: number;
  readonly kvHeads?: number;
  readonly sequences?: number;
  readonly contextLength?: number;
  readonly model?: Partial<ModelShape>;
}

function specOf(shape: Shape): StageSpec {
  const { codec = "none", boundaries = "", gradientBits = 8, sideWidth = 0, layersOfStages, stage } = shape;
  const { kvHeads = 2, sequences = 2, contextLength = 16, model = {} } = shape;
  const layers = layersOfStages.reduce((a, b) => a + b, 0);
  const config = tinyConfig({
    model: { layers, kvHeads, contextLength, ...model },
    pipeline: { codec, boundaries, gradientBits, sideWidth, stages: layersOfStages.length },
    train: { sequencesPerMicrobatch: sequences },
  });
  return specAt(specsOf(config, layersOfStages), stage);
}

/** Every role of a stage, all codecs, wires of 4 and 12 values, the three kinds of head grouping, B of 1, 2 and 3, and a longer context. */
export function computeCases(): ComputeCase[] {
  const shapes: Record<string, Shape> = {
    "whole model, 2 layers, 4:2 heads": { layersOfStages: [2], stage: 0 },
    "head, codec none": { layersOfStages: [1, 1], stage: 0 },
    "head, codec iota, 2 layers": { codec: "iota", layersOfStages: [2, 1], stage: 0 },
    "body, codec none, 2 layers, T 32": { layersOfStages: [1, 2, 1], stage: 1, contextLength: 32 },
    "body, codec iota, 1 layer that receives and sends": { codec: "iota", layersOfStages: [1, 1, 1], stage: 1 },
    "body, codec q5block, both ends": { codec: "q5block", layersOfStages: [1, 1, 1], stage: 1 },
    "head, codec q4block": { codec: "q4block", layersOfStages: [1, 1], stage: 0 },
    "body, codec q5block, gradients in 4 bits": {
      codec: "q5block",
      gradientBits: 4,
      layersOfStages: [1, 1, 1],
      stage: 1,
    },
    "tail, codec q4block, gradients in 5 bits": {
      codec: "q4block",
      gradientBits: 5,
      layersOfStages: [1, 1],
      stage: 1,
    },
    "tail, codec q6block, B 3": { codec: "q6block", layersOfStages: [1, 1], stage: 1, sequences: 3 },
    "body, codec iota, 3 layers, 4:4 heads": { codec: "iota", layersOfStages: [1, 3, 1], stage: 1, kvHeads: 4 },
    "head, codec resbm, 2 layers": { codec: "resbm", layersOfStages: [2, 1], stage: 0 },
    "body, codec resbm, both ends": { codec: "resbm", layersOfStages: [1, 1, 1], stage: 1 },
    "body, resbm of 8 values in and 24 out": {
      boundaries: "1=resbm:8 2=resbm:24",
      layersOfStages: [1, 1, 1],
      stage: 1,
    },
    "body, codec none in and q5block out": { boundaries: "2=q5block:16", layersOfStages: [1, 1, 1], stage: 1 },
    "body, iota of 24 values in and 8 out": { boundaries: "1=iota:24 2=iota:8", layersOfStages: [1, 1, 1], stage: 1 },
    "body, q4block of 12 values in and iota of 4 out": {
      boundaries: "1=q4block:12 2=iota:4",
      layersOfStages: [1, 1, 1],
      stage: 1,
    },
    "body, iota of 4 values in and q5block of 12 out": {
      boundaries: "1=iota:4 2=q5block:12",
      layersOfStages: [1, 1, 1],
      stage: 1,
    },
    "head, q5block, side of 8 values": { codec: "q5block", sideWidth: 8, layersOfStages: [1, 1], stage: 0 },
    "body, q5block, side of 8 values": { codec: "q5block", sideWidth: 8, layersOfStages: [1, 1, 1], stage: 1 },
    "body, codec none, side of 4 values, 2 layers": { sideWidth: 4, layersOfStages: [1, 2, 1], stage: 1 },
    "tail, codec resbm, side of 12 values": { codec: "resbm", sideWidth: 12, layersOfStages: [1, 1], stage: 1 },
    "tail, codec resbm, B 3": { codec: "resbm", layersOfStages: [1, 1], stage: 1, sequences: 3 },
    "tail, codec none, 4:1 heads, B 3, scaled rotary angles, 76 tokens": {
      ...{ layersOfStages: [1, 1], stage: 1, kvHeads: 1, sequences: 3 },
      model: { vocabSize: 76, ropeFactor: 8, ropeOriginalContext: 64 }, // pairs that turn as before, by a blend, and slower
    },
    "tail, codec iota, B 1": { codec: "iota", layersOfStages: [1, 1], stage: 1, sequences: 1 },
    "tail, codec iota, 2 layers": { codec: "iota", layersOfStages: [1, 2], stage: 1 },
  };
  return Object.entries(shapes).map(([name, shape]) => ({ name, spec: specOf(shape) }));
}

/** Start values with gains moved off one, so that a forgotten gain shows. Padding stays zero. */
export function suiteParameters(spec: StageSpec): Float32Array {
  const parameters = parametersOf(spec);
  for (const { name, shape, offset, size } of parameterTable(spec).tensors) {
    if (shape.length > 1) continue;
    noise(name, size, 0.3).forEach((value, i) => parameters[offset + i]! += value);
  }
  return parameters;
}

/** A flat vector like the parameters, zero in the padding. */
export function suiteVector(spec: StageSpec, { label, scale }: { label: string; scale: number }): Float32Array {
  const table = parameterTable(spec);
  const vector = new Float32Array(table.length);
  for (const { name, offset, size } of table.tensors) vector.set(noise(`${label} ${name}`, size, scale), offset);
  return vector;
}

/** A segment of a frame: it starts at an odd offset, and the frame stays the caller's. */
function randomWire(wire: Wire, { label, scale }: { label: string; scale: number }): Uint8Array {
  const values = noise(label, wire.rows * wire.width, scale);
  const ids = noise(`${label} ids`, wire.rows, 1).map((value) => Math.floor((value + 1) / 2 * (wire.vocabSize ?? 1)));
  const bytes = encodeWire(wire, Float32Array.from(values), Uint32Array.from(ids));
  const frame = new Uint8Array(bytes.length + 3);
  frame.set(bytes, 3);
  return frame.subarray(3);
}

export interface Microbatch {
  readonly input: StageInput;
  readonly targets: Uint32Array; // used at the tail
  readonly gradient: Uint8Array | null; // on the outgoing wire; null at the tail
}

export function suiteMicrobatch(spec: StageSpec, index: number): Microbatch {
  const { tokens, targets } = tokensOf(spec, index);
  const wires = stageWires(spec);
  const input: StageInput = wires.input === null
    ? { type: "tokens", tokens }
    : { type: "wire", wire: randomWire(wires.input, { label: `wire ${index}`, scale: 1.5 }) };
  const gradient = wires.outputGradient === null
    ? null
    : randomWire(wires.outputGradient, { label: `gradient ${index}`, scale: 1e-2 });
  return { input, targets, gradient };
}

/** |actual - expected| / |expected| over all entries. */
export function relativeL2(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  assert(actual.length === expected.length, `${actual.length} values where ${expected.length} are expected`);
  let difference = 0, size = 0;
  for (let i = 0; i < expected.length; i++) {
    difference += (actual[i]! - expected[i]!) ** 2;
    size += expected[i]! ** 2;
  }
  return size === 0 ? Math.sqrt(difference) : Math.sqrt(difference / size);
}

export interface Closeness {
  readonly what: string;
  readonly actual: ArrayLike<number>;
  readonly expected: ArrayLike<number>;
}

/** `tolerance` is a relative L2; NaN never passes. */
export function assertClose({ what, actual, expected }: Closeness, tolerance: number): void {
  const error = relativeL2(actual, expected);
  assert(error <= tolerance, `${what}: relative L2 ${error.toExponential(2)} above ${tolerance}`);
}

/** Distance between neighbouring bfloat16 values around `value`: 8 significant bits. */
function bfloat16Ulp(value: number): number {
  return value === 0 ? 0 : 2 ** (Math.floor(Math.log2(Math.abs(value))) - 7);
}

/** Two computations of one wire, decoded. */
interface Wires {
  readonly what: string;
  readonly actual: Float32Array;
  readonly expected: Float32Array;
}

/**
 * float32 wires by relative L2. bfloat16 wires value by value: two float32 results on either side of a rounding tie end one
 * ulp apart, and a value near zero carries the float32 error of the large terms it is the difference of, hence the floor.
 */
const wireCloseness: Readonly<Record<Codec, (wire: Wire, wires: Wires) => void>> = {
  none: (_wire, wires) => assertClose(wires, wireTolerance),
  iota: assertBfloat16Close,
  resbm: assertBfloat16Close,
  q4block: assertCodesClose,
  q5block: assertCodesClose,
  q6block: assertCodesClose,
};

/** Value by value. */
function assertBfloat16Close(_wire: Wire, { what, actual, expected }: Wires): void {
  const rms = Math.sqrt(expected.reduce((sum, value) => sum + value * value, 0) / expected.length);
  expected.forEach((value, i) => {
    const allowed = Math.max(bfloat16Ulp(value), bfloat16Ulp(actual[i]!), 1e-4 * rms);
    assert(Math.abs(actual[i]! - value) <= allowed, `${what}[${i}]: ${actual[i]} where ${value} is expected`);
  });
}

/** Few values lie so near the edge of a code that two float32 results end on its two sides, and those are one code apart. */
function assertCodesClose(wire: Wire, { what, actual, expected }: Wires): void {
  const { ofRow, valuesHit } = wireRounding(wire);
  const differing = expected.filter((value, i) => value !== actual[i]).length;
  const most = Math.max(wire.width, valuesHit * expected.length); // a row has one scale
  assert(differing <= most, `${what}: ${differing} of ${expected.length} values differ`);
  for (let row = 0; row < expected.length; row += wire.width) {
    const own = expected.subarray(row, row + wire.width);
    const allowed = ofRow * own.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    own.forEach((value, i) => {
      const found = actual[row + i]!;
      assert(Math.abs(found - value) <= allowed, `${what}[${row + i}]: ${found} where ${value} is expected`);
    });
  }
}

export function assertWiresClose(
  wire: Wire,
  { what, actual, expected }: { what: string; actual: Uint8Array; expected: Uint8Array },
): void {
  wireCloseness[wire.codec](wire, { what, actual: decodeWire(wire, actual), expected: decodeWire(wire, expected) });
}

/** Our bar for float32 against float64; honest kernels are near 1e-6. */
export const gradientTolerance = 1e-4;
export const wireTolerance = 1e-5;
export const lossTolerance = 1e-5;
