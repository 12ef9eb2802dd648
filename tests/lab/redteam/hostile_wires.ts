/** Attackers on the wires between stages: values that poison their consumers, and false claims about results. */

import { decodeWire, encodeWire, type Wire, wireIds } from "../../../core/codec/wire.ts";
import { fault } from "../../../core/fault.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import { type Hostile, instead } from "./hostile_node.ts";

/** Instead of a wire's values, (B, T, width) flat; works in place. */
export type Spoil = (values: Float32Array) => void;

export const allOf = (value: number): Spoil => (values) => values.fill(value);

/** One value in the middle. */
export const oneOf = (value: number): Spoil => (values) => values[values.length >> 1] = value;

export const rmsOf = (values: Float32Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

/** Off by this share of its length, always in the same direction. */
export const biased = (share: number): Spoil => (values) => {
  const rms = rmsOf(values);
  for (let i = 0; i < values.length; i++) values[i]! += (i % 2 === 0 ? 1 : -1) * share * rms;
};

export const times = (factor: number): Spoil => (values) => values.forEach((value, i) => values[i] = factor * value);

/** Every wire it sends forward; a tail sends none. */
export const spoilsForward = (spoil: Spoil): Hostile => ({
  compute: ({ forward }, spec) => {
    const { output } = stageWires(spec);
    return output === null ? {} : { forward: async (...given) => spoiled(output, await forward(...given), spoil) };
  },
});

/** Every gradient it sends to the stage before; the head sends none. */
export const spoilsGradients = (spoil: Spoil): Hostile => ({
  compute: ({ backward, turnaround }, spec) => {
    const { inputGradient } = stageWires(spec);
    if (inputGradient === null) return {};
    const spoiledIfAny = (bytes: Uint8Array | null) => bytes === null ? null : spoiled(inputGradient, bytes, spoil);
    return {
      backward: async (...given) => spoiledIfAny(await backward(...given)),
      turnaround: async (...given) => {
        const result = await turnaround(...given);
        return { ...result, gradient: spoiledIfAny(result.gradient) };
      },
    };
  },
});

export function spoiled(wire: Wire, bytes: Uint8Array, spoil: Spoil): Uint8Array {
  const values = decodeWire(wire, bytes);
  spoil(values);
  return encodeWire(wire, values, wireIds(wire, bytes));
}

/** A tail that reports these losses. */
export const reportsLoss = (loss: number): Hostile =>
  instead("taskDone", ({ message }) => {
    return message.losses === null ? message : { ...message, losses: message.losses.map(() => loss) };
  });

/** Claims that every input is bad, as if its maker had sent NaN. */
export const refusesInputs: Hostile = instead("taskDone", ({ message: { task } }) => ({
  type: "taskFailed",
  task,
  fault: fault("badNumbers", "The wire holds NaN or infinity"),
}));
