/** Attackers in a merge by what they withhold or claim, and by payloads made for one kind of tensor. */

import { payloadHash } from "../../../cli/roles/payload_hash.ts";
import { present } from "../../../core/assert.ts";
import { fault } from "../../../core/fault.ts";
import { parameterTable, type ParameterTensor } from "../../../core/model/spec.ts";
import { bytesOfFloats, floatsOf } from "../../../core/model/vector_bytes.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { joinsAnew } from "../../lab/redteam/hostile_merges.ts";
import { type Hostile, instead, together } from "../../lab/redteam/hostile_node.ts";

type IsChosen = (at: number) => boolean; // a place in the stage's vector

/** Commits a payload of which `made` makes every slice anew, given the tensors of these names. */
function remakesPayload(
  names: RegExp,
  made: (
    parts: readonly Float32Array[],
    chosen: readonly ParameterTensor[],
    isChosen: IsChosen,
  ) => readonly Float32Array[],
): Hostile {
  let chosen: readonly ParameterTensor[] = [];
  const watch: Hostile = {
    compute: (_, spec) => {
      chosen = parameterTable(spec).tensors.filter(({ name }) => names.test(name));
      return {};
    },
  };
  const isChosen: IsChosen = (at) => chosen.some(({ offset, size }) => at >= offset && at < offset + size);
  const remake = instead("payloadCommitted", ({ message, store }) => {
    const parts = message.slices.map(({ hash }) => floatsOf(present(store.held.get(hash), "its own slice").slice()));
    const slices = made(parts, chosen, isChosen).map((part) => {
      const bytes = bytesOfFloats(Float32Array.from(part));
      store.held.set(refOf(bytes).hash, bytes);
      return refOf(bytes);
    });
    return { ...message, slices, payload: payloadHash(slices) };
  });
  return together(watch, remake);
}

function mapped(parts: readonly Float32Array[], change: (value: number, at: number) => number): Float32Array[] {
  let offset = 0;
  return parts.map((part) => {
    const start = offset;
    offset += part.length;
    return part.map((value, i) => change(value, start + i));
  });
}

/** Commits so many times its payload's length, all of it in the tensors of these names, spread evenly. */
export const gathersPayload = (times: number, names: RegExp): Hostile =>
  remakesPayload(names, (parts, chosen, isChosen) => {
    const length = Math.hypot(...parts.map((part) => Math.sqrt(part.reduce((sum, value) => sum + value * value, 0))));
    const value = times * length / Math.sqrt(chosen.reduce((sum, { size }) => sum + size, 0));
    return mapped(parts, (_, at) => isChosen(at) ? value : 0);
  });

/** Commits these matrices at so many times their length, a share of it as computed, the rest in their first column. */
export const gathersInColumn = (times: number, { honest, names }: { honest: number; names: RegExp }): Hostile =>
  remakesPayload(names, (parts, chosen) => {
    const whole = Float32Array.from(parts.flatMap((part) => [...part]));
    for (const { offset, size, shape: [rows, columns] } of chosen) {
      const values = whole.subarray(offset, offset + size);
      const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
      const inColumn = times * length * Math.sqrt((1 - honest ** 2) / rows!);
      values.forEach((value, i) => values[i] = times * honest * value + (i % columns! === 0 ? inColumn : 0));
    }
    return mapped(parts, (_, at) => whole[at]!);
  });

/** Commits its payload with these tensors times a number. */
export const scalesTensors = (times: number, names: RegExp): Hostile =>
  remakesPayload(names, (parts, _, isChosen) => mapped(parts, (value, at) => isChosen(at) ? times * value : value));

/** Commits hashes and stores nothing behind them, as bytes that do not fit their hash are not stored either. */
export const commitsHashesOnly: Hostile = instead("payloadCommitted", ({ message }) => {
  const slices = message.slices.map(({ hash, bytes }) => ({
    ...refOf(new TextEncoder().encode(`not ${hash}`)),
    bytes,
  }));
  return { ...message, slices, payload: payloadHash(slices) };
});

/** Instead of a mean: an honest input holds NaN. */
export const accusesInput = (position: number): Hostile =>
  instead("sliceReduced", ({ message: { round } }) => ({
    type: "mergeFailed",
    round,
    fault: fault("badNumbers", `Cannot average slices: input ${position} holds a non-finite value`),
  }));

/** Reduces correctly and names the result, but does not store it. */
export const reducesWithoutStoring: Hostile = instead("sliceReduced", ({ message, store }) => {
  store.held.delete(message.result.hash);
  return message;
});

/** Claims for every reduction that a payload is unavailable. */
export const missesPayloads: Hostile = instead("sliceReduced", ({ message: { round } }) => ({
  type: "mergeFailed",
  round,
  fault: fault("badBlob", "Cannot read a blob: the store does not hold it"),
}));

/** Says that the round's parameters are in the store, where they are not. */
export const uploadsNothing: Hostile = instead("parametersUploaded", ({ message, store }) => {
  for (const ref of [message.parameters, message.momentum]) if (ref !== null) store.held.delete(ref.hash);
  return message;
});

/** Each of these in turn, another one each round. */
export function withholdsInTurn(...types: readonly NodeMessage["type"][]): Hostile {
  let round = 0;
  return {
    say: ({ message }) => {
      if (message.type === "payloadCommitted") round = message.round;
      return message.type === types[round % types.length] ? [] : [message];
    },
  };
}

/** Says that it cannot do its part, for no reason that the store could be asked about. */
export const refuses = (type: "payloadCommitted" | "sliceReduced" | "mergeApplied"): Hostile =>
  instead(type, ({ message: { round } }) => ({
    type: "mergeFailed",
    round: type === "mergeApplied" ? round - 1 : round,
    fault: fault("limitExceeded", "not today"),
  }));

/** A correct hash with a false size, which cannot be fetched. */
export const reducesToSize = (bytes: number): Hostile =>
  instead("sliceReduced", ({ message }) => ({ ...message, result: { ...message.result, bytes } }));

export const leavesInsteadOf = (type: NodeMessage["type"]): Hostile => ({
  say: ({ message }) => message.type === type ? [{ type: "leaving", reason: "bye" }, joinsAnew] : [message],
});

/** Like a miner that was killed and started again. */
export const joinsInsteadOf = (type: NodeMessage["type"]): Hostile => ({
  say: ({ message }) => message.type === type ? [joinsAnew] : [message],
});

/** Applies the patch only every second time that it would change or withhold a message. */
export function everySecond(part: Hostile): Hostile {
  let times = 0;
  return {
    say: ({ message, store }) => {
      const said = part.say?.({ message, store }) ?? [message];
      const isChanged = said.length !== 1 || said[0] !== message;
      return isChanged && times++ % 2 === 1 ? [message] : said;
    },
  };
}
