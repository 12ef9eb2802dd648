/**
 * One task of a stage, operation by operation: a forward and its backward, or the tail's turnaround, on inputs that follow from
 * the stage's shape alone, so that any two devices can be given the same.
 *
 * Out of scope: comparing (operation_check.ts).
 */

import { encodeWire, type Wire } from "../../core/codec/wire.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import { keyOf, nextUint32, openStream } from "../../core/prng.ts";
import type { StageInput } from "../compute.ts";
import { createDeviceStage } from "../stage.ts";
import type { StageDevice } from "../stage_device.ts";
import { TracedDevice, type TracedOutput } from "./traced_device.ts";

const wireScale = 1;
const gradientScale = 1e-2;
const parameterScale = 0.1;
const gainScale = 0.3; // about 1

/** All outputs in the order of the operations. The device is destroyed. */
export async function tracedTask(device: StageDevice, spec: StageSpec): Promise<TracedOutput[]> {
  const outputs: TracedOutput[] = [];
  const traced = new TracedDevice(device, (output) => outputs.push(output));
  const stage = await createDeviceStage(traced, spec, { optimizer: null });
  try {
    const { input, targets, gradient } = workOf(spec);
    await stage.loadParameters(parametersOf(spec));
    outputs.length = 0; // zeroed memory is no result
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

interface TaskWork {
  readonly input: StageInput;
  readonly targets: Uint32Array; // of a tail
  readonly gradient: Uint8Array | null; // null: of a tail
}

function workOf(spec: StageSpec): TaskWork {
  const { sequences, model: { contextLength, vocabSize } } = spec;
  const { input, outputGradient } = stageWires(spec);
  const tokensOf = (label: string) => {
    const stream = openStream(keyOf(0, "traced task", label));
    return Uint32Array.from({ length: sequences * contextLength }, () => nextUint32(stream) % vocabSize);
  };
  const wireOf = (wire: Wire, label: string, scale: number) =>
    encodeWire(wire, randomValues(wire.rows * wire.width, { label, scale }));
  return {
    input: input === null
      ? { type: "tokens", tokens: tokensOf("tokens") }
      : { type: "wire", wire: wireOf(input, "input", wireScale) },
    targets: tokensOf("targets"),
    gradient: outputGradient === null ? null : wireOf(outputGradient, "gradient", gradientScale),
  };
}

/** No tensor is zero or one throughout, as at the start of training, where a wrong operation could go unseen. */
function parametersOf(spec: StageSpec): Float32Array {
  const table = parameterTable(spec);
  const parameters = new Float32Array(table.length);
  for (const { name, shape, offset, size } of table.tensors) {
    const isGain = shape.length === 1;
    const values = randomValues(size, { label: name, scale: isGain ? gainScale : parameterScale });
    for (let i = 0; i < size; i++) parameters[offset + i] = (isGain ? 1 : 0) + values[i]!;
  }
  return parameters;
}

/** Uniform in [-scale, scale). */
function randomValues(count: number, { label, scale }: { label: string; scale: number }): Float32Array<ArrayBuffer> {
  const stream = openStream(keyOf(0, "traced task", label));
  return Float32Array.from({ length: count }, () => scale * (nextUint32(stream) / 2 ** 31 - 1));
}
