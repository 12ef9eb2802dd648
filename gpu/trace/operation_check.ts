/**
 * Compares a device with the processor, operation by operation, because a miner with a wrong device is banned and
 * audits see only a task's result. Honest devices differ in the last bits. The first operation that is off by far more
 * is the culprit.
 */

import { assert } from "../../core/assert.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import type { StageDevice } from "../stage_device.ts";
import { TracedDevice, type TracedOutput } from "./traced_device.ts";
import { createDeviceStage } from "../stage.ts";
import { encodeWire, type Wire } from "../../core/codec/wire.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import { keyOf, nextUint32, openStream } from "../../core/prng.ts";
import type { StageInput } from "../compute.ts";

export interface OperationCheck {
  readonly outputs: number;
  readonly processorHash: string; // SHA-256 over the hashes of all its outputs, the same on every machine
  readonly worst: Departure; // the first beyond its tolerance, otherwise the nearest to it
  readonly agrees: boolean;
}

/** Of one output, with its 64 worst rows. */
export interface Departure {
  readonly stage: number;
  readonly operation: string;
  readonly memory: string; // the output's label
  /** |ours - theirs| / |theirs| of all its values; of codes, the share of unequal bytes. */
  readonly difference: number;
  readonly tolerance: number;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly rowsHash: string; // SHA-256
  readonly processorRowsHash: string;
}

export const valueTolerance = 1e-3; // honest devices: 1e-6 on software drivers; audits allow 0.05
const codeTolerance = 0.02; // a value at an edge between two codes may fall on either side

const blockRows = 64;

/** `device` null: only the processor's hash counts. */
export async function checkOperations(
  specs: readonly StageSpec[],
  { device, processor }: { device: (() => StageDevice) | null; processor: () => StageDevice },
): Promise<OperationCheck> {
  const found: Compared[] = [];
  const hashes: string[] = [];
  for (const spec of specs) {
    const theirs = await tracedTask(processor(), spec);
    const ours = device === null ? theirs : await tracedTask(device(), spec);
    assert(
      ours.length === theirs.length,
      `stage ${spec.index}: ${ours.length} outputs, the processor ${theirs.length}`,
    );
    for (const [i, output] of ours.entries()) {
      found.push(compared(spec, output, theirs[i]!));
      hashes.push(await hashOf(theirs[i]!.content));
    }
  }
  const failed = found.find(({ share }) => !(share <= 1)); // also NaN
  const worst = failed ?? found.reduce((largest, each) => each.share > largest.share ? each : largest);
  const processorHash = await hashOf(new TextEncoder().encode(hashes.join("\n")));
  return { outputs: found.length, processorHash, worst: await departureOf(worst), agrees: failed === undefined };
}

interface Compared {
  readonly stage: number;
  readonly ours: TracedOutput;
  readonly theirs: TracedOutput;
  readonly difference: number;
  readonly tolerance: number;
  readonly share: number; // of the tolerance
}

function compared({ index: stage }: StageSpec, ours: TracedOutput, theirs: TracedOutput): Compared {
  assert(ours.operation === theirs.operation && ours.rows === theirs.rows, "an operation is compared with itself");
  const difference = differenceOf(ours, theirs);
  const tolerance = ours.isBytes ? codeTolerance : valueTolerance;
  return { stage, ours, theirs, difference, tolerance, share: difference / tolerance };
}

async function departureOf({ stage, ours, theirs, difference, tolerance }: Compared): Promise<Departure> {
  const { operation, memory, rows } = ours;
  let [firstRow, worst] = [0, 0];
  for (let row = 0; row < rows; row += blockRows) {
    const here = differenceOf(blockOf(ours, row), blockOf(theirs, row));
    if (here <= worst) continue;
    [firstRow, worst] = [row, here];
    if (Number.isNaN(here)) break;
  }
  const [rowsHash, processorRowsHash] = [
    await hashOf(blockOf(ours, firstRow).content),
    await hashOf(blockOf(theirs, firstRow).content),
  ];
  const lastRow = Math.min(rows, firstRow + blockRows) - 1;
  return { stage, operation, memory, difference, tolerance, firstRow, lastRow, rowsHash, processorRowsHash };
}

const blockOf = (output: TracedOutput, row: number): TracedOutput => ({
  ...output,
  content: output.content.subarray(row * output.rowBytes, (row + blockRows) * output.rowBytes),
});

function differenceOf(ours: TracedOutput, theirs: TracedOutput): number {
  if (ours.isBytes) {
    const unequal = ours.content.reduce((sum, byte, i) => sum + (byte === theirs.content[i] ? 0 : 1), 0);
    return unequal / ours.content.length;
  }
  const [a, b] = [floatsOf(ours), floatsOf(theirs)];
  let squares = 0;
  let size = 0;
  for (let i = 0; i < a.length; i++) {
    squares += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return size === 0 ? Math.sqrt(squares) : Math.sqrt(squares / size);
}

const floatsOf = ({ content: { buffer, byteOffset, byteLength } }: TracedOutput): Float32Array =>
  new Float32Array(buffer, byteOffset, byteLength / 4);

async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return new Uint8Array(digest).toHex();
}

/** The device is destroyed. */
export async function tracedTask(device: StageDevice, spec: StageSpec): Promise<TracedOutput[]> {
  const outputs: TracedOutput[] = [];
  const traced = new TracedDevice(device, (output) => outputs.push(output));
  const stage = await createDeviceStage(traced, spec, { optimizer: null });
  try {
    const { input, targets, gradient } = taskWork(spec);
    await stage.loadParameters(taskParameters(spec));
    outputs.length = 0; // zeroed memory is not a result
    if (gradient === null) await stage.turnaround(input, targets);
    else {
      await stage.forward(input);
      await stage.backward(input, gradient);
    }
    return outputs;
  } finally {
    stage.close();
  }
}

/** Made from the stage's shape and a number, so devices can be compared. */
const wireScale = 1;
const gradientScale = 1e-2;
const parameterScale = 0.1; // wider products add more values and must not saturate what follows
const scaledWidth = 32;
const gainScale = 0.3; // around 1

interface TaskWork {
  readonly input: StageInput;
  readonly targets: Uint32Array; // of a tail
  readonly gradient: Uint8Array | null; // null at a tail
}

function taskWork(spec: StageSpec, index = 0): TaskWork {
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

/** Tensors of all zeros or ones, as at the start of training, would hide wrong operations. */
function taskParameters(spec: StageSpec): Float32Array {
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

/** In [-scale, scale). */
function randomValues(
  count: number,
  { label, index, scale }: { label: string; index: number; scale: number },
): Float32Array<ArrayBuffer> {
  const stream = openStream(keyOf(0, "traced task", label, index));
  return Float32Array.from({ length: count }, () => scale * (nextUint32(stream) / 2 ** 31 - 1));
}
