/**
 * How a miner opens the parameters of a drawn step, in half their bytes: as their difference from the round's start
 * (start minus parameters).
 *
 * Blocks of 64 values have a scale (level.ts) and codes of 16 bits, off by at most 1/65,000 of the block's largest
 * change. With codes of 8 bits, repeated tasks are off by up to half of the audit tolerance (tests/lab/LOG.md).
 */

import { inUnits, type LongWork } from "../long_work.ts";
import { levelAbove, valueOfLevel } from "./level.ts";

const blockValues = 64; // divides every stage
const scaleBytes = 2;
const blockBytes = scaleBytes + 2 * blockValues;
const largestCode = 32_767;
const blocksInUnit = 2 ** 12; // a few milliseconds

export const changeBytes = (floats: number): number => blockBytes * Math.ceil(floats / blockValues);

/** Both finite, of one stage. */
export function* encodeChange(start: Float32Array, current: Float32Array): LongWork<Uint8Array> {
  const bytes = new Uint8Array(changeBytes(start.length));
  const view = new DataView(bytes.buffer);
  const blocks = bytes.length / blockBytes;
  yield* inUnits({ total: blocks, unit: blocksInUnit }, (from, to) => {
    for (let block = from; block < to; block++) {
      const first = block * blockValues;
      const end = Math.min(start.length, first + blockValues);
      let largest = 0;
      for (let i = first; i < end; i++) largest = Math.max(largest, Math.abs(start[i]! - current[i]!));
      const level = levelAbove(largest / largestCode);
      const step = valueOfLevel(level);
      const at = block * blockBytes;
      view.setUint16(at, level, true);
      for (let i = first; i < end && step > 0; i++) {
        view.setInt16(at + scaleBytes + 2 * (i - first), Math.round((start[i]! - current[i]!) / step), true);
      }
    }
  });
  return bytes;
}

/** (floats), non-finite where a scale is. Null: not the bytes of this many floats. */
export function* decodeChange(bytes: Uint8Array, floats: number): LongWork<Float32Array | null> {
  if (bytes.length !== changeBytes(floats)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const change = new Float32Array(floats);
  yield* inUnits({ total: bytes.length / blockBytes, unit: blocksInUnit }, (from, to) => {
    for (let block = from; block < to; block++) {
      const at = block * blockBytes;
      const step = valueOfLevel(view.getUint16(at, true));
      const first = block * blockValues;
      const end = Math.min(floats, first + blockValues);
      for (let i = first; i < end; i++) change[i] = view.getInt16(at + scaleBytes + 2 * (i - first), true) * step;
    }
  });
  return change;
}

/** Turns the round's start into the opened parameters. False: not the bytes of this many floats. */
export function* moveBy(parameters: Float32Array, bytes: Uint8Array): LongWork<boolean> {
  const change = yield* decodeChange(bytes, parameters.length);
  if (change === null) return false;
  for (let i = 0; i < change.length; i++) parameters[i]! -= change[i]!;
  return true;
}
