/** Attention of rows that each continue a text, over the keys and values of earlier tokens. */

import { type CacheSizes } from "../../stage_ops.ts";
import { tileColumns } from "../kernels/gemm_kernels.ts";
import type { Hand, Job, Operation } from "./job.ts";

const flopsPerNs = 2; // plain loops

const sizesOf = ({ rows, heads, kvHeads, headWidth, streams, length }: CacheSizes) =>
  [rows, heads, kvHeads, headWidth, streams, length] as const;
type Numbers = readonly [...ReturnType<typeof sizesOf>, ...number[]];

const floatsOf = ({ memory }: Hand) => new Float32Array(memory.buffer);
const wordsOf = ({ memory }: Hand) => new Uint32Array(memory.buffer);

interface TokensCall {
  readonly sizes: CacheSizes;
  readonly addresses: Readonly<Record<"table" | "places" | "qkv" | "keys" | "values", number>>;
}

/** A unit is a row. */
export function cacheTokensJob({ sizes, addresses: { table, places, qkv, keys, values } }: TokensCall): Job {
  const { rows, heads, kvHeads, headWidth } = sizes;
  return {
    operation: "cacheTokens",
    numbers: [...sizesOf(sizes), table, places, qkv, keys, values],
    units: rows,
    unitNs: 6 * (heads + 2 * kvHeads) * headWidth / flopsPerNs,
  };
}

export const runCacheTokens: Operation = (hand, numbers) => {
  const [, heads, kvHeads, headWidth, streams, length, ...addresses] = numbers as unknown as Numbers;
  const [table, places, qkv, keys, values] = addresses.map((address) => address / 4) as [
    ...[number, number, number, number, number],
  ];
  const floats = floatsOf(hand);
  const words = wordsOf(hand);
  const half = headWidth / 2;
  return (from, to) => {
    for (let row = from; row < to; row++) {
      const [stream, position] = [words[places + 2 * row]!, words[places + 2 * row + 1]!];
      if (stream >= streams) continue;
      const start = qkv + row * (heads + 2 * kvHeads) * headWidth;
      for (let head = 0; head < heads + kvHeads; head++) {
        for (let i = 0; i < half; i++) {
          const cosine = floats[table + position * half + i]!;
          const sine = floats[table + (length + position) * half + i]!;
          const low = start + head * headWidth + i;
          const [x, y] = [floats[low]!, floats[low + half]!];
          floats[low] = x * cosine - y * sine;
          floats[low + half] = y * cosine + x * sine;
        }
      }
      for (let head = 0; head < kvHeads; head++) {
        const place = ((stream * kvHeads + head) * length + position) * headWidth;
        const key = start + (heads + head) * headWidth;
        const value = key + kvHeads * headWidth;
        floats.copyWithin(keys + place, key, key + headWidth);
        floats.copyWithin(values + place, value, value + headWidth);
      }
    }
  };
};

interface AttendCall {
  readonly sizes: CacheSizes;
  readonly addresses: Readonly<Record<"places" | "qkv" | "keys" | "values" | "output", number>>;
  readonly scratch: number; // for every thread, `attendFloats` each
}

const columnsOf = (length: number) => Math.ceil(length / tileColumns) * tileColumns;

export const attendFloats = ({ length }: CacheSizes): number => columnsOf(length) + tileColumns;

/** A unit is a row's queries of one group. */
export function attendCacheJob({ sizes, addresses: { places, qkv, keys, values, output }, scratch }: AttendCall): Job {
  const { rows, heads, kvHeads, headWidth, length } = sizes;
  return {
    operation: "attendCache",
    numbers: [...sizesOf(sizes), places, qkv, keys, values, output, scratch],
    units: rows * kvHeads,
    unitNs: 2 * length * headWidth * (heads / kvHeads) / flopsPerNs, // as if half of the positions were there
  };
}

export const runAttendCache: Operation = (hand, numbers) => {
  const [, heads, kvHeads, headWidth, streams, length, ...addresses] = numbers as unknown as Numbers;
  const [places, qkv, keys, values, output, scratch] = addresses.map((address) => address / 4) as [
    ...[number, number, number, number, number, number],
  ];
  const floats = floatsOf(hand);
  const words = wordsOf(hand);
  const columns = columnsOf(length);
  const scores = scratch + hand.index * (columns + tileColumns);
  const sum = scores + columns;
  const scale = 1 / Math.sqrt(headWidth);
  const ofGroup = heads / kvHeads;
  const { multiplyRowLines, multiplyRowRows, softmax } = hand.kernels;
  const rowBytes = 4 * headWidth;
  const attend = (query: number, { place, position, to }: { place: number; position: number; to: number }) => {
    const fours = headWidth % 4 === 0 ? position + 1 - (position + 1) % 4 : 0; // positions that the kernels take
    const [key, value] = [keys + place, values + place];
    multiplyRowLines(4 * query, 4 * key, 4 * scores, fours, headWidth, rowBytes, 4 * rowBytes, 16, 0);
    for (let at = fours; at <= position; at++) {
      let product = 0;
      for (let i = 0; i < headWidth; i++) product += floats[query + i]! * floats[key + at * headWidth + i]!;
      floats[scores + at] = product;
    }
    softmax(4 * scores, 4 * sum, 1, 4 * columnsOf(position + 1), 4 * columns, position, scale);
    floats.fill(0, to, to + headWidth);
    if (fours > 0) multiplyRowRows(4 * scores, 4 * value, 4 * to, headWidth, fours, rowBytes, 16, 4 * rowBytes, 0);
    for (let at = fours; at <= position; at++) {
      const share = floats[scores + at]!;
      for (let i = 0; i < headWidth; i++) floats[to + i]! += share * floats[value + at * headWidth + i]!;
    }
  };
  return (from, to) => {
    for (let unit = from; unit < to; unit++) {
      const [row, group] = [Math.floor(unit / kvHeads), unit % kvHeads];
      const [stream, position] = [words[places + 2 * row]!, words[places + 2 * row + 1]!];
      for (let head = group * ofGroup; head < (group + 1) * ofGroup; head++) {
        const own = output + (row * heads + head) * headWidth;
        const query = qkv + (row * (heads + 2 * kvHeads) + head) * headWidth;
        const place = (stream * kvHeads + group) * length * headWidth;
        if (stream < streams) attend(query, { place, position, to: own });
        else floats.fill(0, own, own + headWidth);
      }
    }
  };
};
