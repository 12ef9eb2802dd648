/** Attackers on wires by values that only a test of this model's shapes would choose: rows of zeros, sizes, patterns, moments. */

import { codesOffset } from "../../../core/codec/scaled_codes.ts";
import { valuesOfWire, wireIds, withIds } from "../../../core/codec/wire.ts";
import type { TaskId } from "../../../core/ids.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import { type Hostile, instead, together } from "../../lab/redteam/hostile_node.ts";
import { oneOf, type Spoil, spoiled, spoilsForward, spoilsGradients, times } from "../../lab/redteam/hostile_wires.ts";

/** The largest value stays what it is, all others are zero. */
export const onlyLargest: Spoil = (values) => {
  let at = 0;
  for (let i = 0; i < values.length; i++) if (Math.abs(values[i]!) > Math.abs(values[at]!)) at = i;
  const largest = values[at]!;
  values.fill(0)[at] = largest;
};

const rowValues = 16; // of the attack world's wires

/** Every value is a code of `bits` bits too small. */
export const codesOffByOne = (bits: number): Spoil => (values) => {
  for (let row = 0; row < values.length; row += rowValues) {
    const own = values.subarray(row, row + rowValues);
    const step = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / (2 ** (bits - 1) - 1);
    own.forEach((value, i) => own[i] = value - Math.sign(value) * step);
  }
};

/** Every nth row is as it was, the others are zero: within any range, and the next stage's gradient leaves its own. */
export const everyNthRow = (n: number): Spoil => (values) => {
  for (let i = 0; i < values.length; i++) if (Math.floor(i / rowValues) % n !== 0) values[i] = 0;
};

/** Where the honest values are large, all of them are this. */
export const shoutsWhenLarge = (value: number): Spoil => (values) => {
  if (values.some((each) => Math.abs(each) >= 1)) values.forEach((_, i) => values[i] = (i % 2 === 0 ? -1 : 1) * value);
};

/** No larger than this on average, whatever an honest replica would make of the same input. */
export const tamed = (rms: number): Spoil => (values) => {
  const found = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
  if (found <= rms) return;
  values.forEach((value, i) => values[i] = Math.max(-5 * rms, Math.min(5 * rms, value * rms / found)));
};

/** Raw bytes over the whole wire, such as a pattern that no encoder makes. */
export const sendsPattern = (pattern: readonly number[]): Hostile => ({
  compute: ({ forward }) => ({
    forward: async (...given) => (await forward(...given)).map((_, i) => pattern[i % pattern.length]!),
  }),
});

const tokens = 16; // of the attack world's sequences

/** The first position of each sequence is zero, all others are as they were: one row in sixteen, so hardly a smaller wire. */
export const firstRowZero: Spoil = (values) => {
  for (let i = 0; i < values.length; i++) if (Math.floor(i / rowValues) % tokens === 0) values[i] = 0;
};

/** A twelfth of an honest wire, and after every eight wires a twelfth of that. */
export function shrinks(): Hostile {
  const spoil = (): Spoil => {
    let wires = 0;
    return (values) => times(12 ** -Math.min(6, 1 + Math.floor(wires++ / 8)))(values);
  };
  return together(spoilsForward(spoil()), spoilsGradients(spoil()));
}

/** NaN in everything that it sends, while `isOn`. */
export function sendsNaNWhile(isOn: () => boolean): Hostile {
  const spoil: Spoil = (values) => {
    if (isOn()) oneOf(NaN)(values);
  };
  return together(spoilsForward(spoil), spoilsGradients(spoil));
}

/** NaN as the first answer to each microbatch that a tail turns around while `isOn`; an honest answer whenever it is asked again. */
export function nanAtFirst(isOn: () => boolean): Hostile {
  const seen = new Set<string>();
  return {
    compute: ({ turnaround }, spec) => {
      const { inputGradient } = stageWires(spec);
      return {
        turnaround: async (...given) => {
          const result = await turnaround(...given);
          const microbatch = given[1].join();
          if (inputGradient === null || result.gradient === null || !isOn() || seen.has(microbatch)) return result;
          seen.add(microbatch);
          return { ...result, gradient: spoiled(inputGradient, result.gradient, oneOf(NaN)) };
        },
      };
    },
  };
}

/** Honest values, with these ids instead of the tokens'. */
export const forgesIds = (idOf: (id: number, vocabSize: number) => number): Hostile => ({
  compute: ({ forward }, spec) => {
    const { output } = stageWires(spec);
    if (output === null) return {};
    return {
      forward: async (...given) => {
        const bytes = await forward(...given);
        const ids = wireIds(output, bytes)?.map((id) => idOf(id, spec.model.vocabSize)) ?? null;
        return withIds(output, valuesOfWire(output, bytes), ids);
      },
    };
  },
});

/** Honest gradients but for the first code, which is one that no encoder writes. */
export const sendsUndefinedCode: Hostile = {
  compute: ({ backward, turnaround }, spec) => {
    const { inputGradient } = stageWires(spec);
    if (inputGradient === null) return {};
    const first = codesOffset({ rows: inputGradient.rows });
    const changed = (bytes: Uint8Array | null) => bytes?.with(first, 0) ?? null;
    return {
      backward: async (...given) => changed(await backward(...given)),
      turnaround: async (...given) => {
        const result = await turnaround(...given);
        return { ...result, gradient: changed(result.gradient) };
      },
    };
  },
};

/** Names a microbatch of no dataset in the results of its forwards. */
export const namesHugeMicrobatch: Hostile = instead("taskDone", ({ message }) => {
  const [, ...rest] = message.task.split(".");
  return rest.includes("forward") ? { ...message, task: ["9999999999999999", ...rest].join(".") as TaskId } : message;
});
