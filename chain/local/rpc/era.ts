/**
 * Mortal eras: for how many blocks a signature is valid. Two bytes encode a period (a power of two) and the phase in it.
 *
 * An era begins at the last block before the head whose number has that phase; the hash of that block is signed.
 */

import { ScaleError } from "../surface/scale_bytes.ts";

export interface Era {
  readonly periodBlocks: number;
  readonly phaseBlocks: number;
}

const finestPhases = 4096; // longer periods have coarser phases

/** From the decoded enum `Immortal | Mortal1(u8) … Mortal255(u8)`: the variant's number is the first byte. Null: immortal. */
export function eraOf(encoded: { readonly type: string; readonly value: unknown }): Era | null {
  if (encoded.type === "Immortal") return null;
  const bits = Number(encoded.type.slice("Mortal".length)) | Number(encoded.value) << 8;
  const periodBlocks = 2 << (bits & 15);
  const phaseBlocks = (bits >> 4) * Math.max(1, Math.floor(periodBlocks / finestPhases));
  if (periodBlocks < 4 || phaseBlocks >= periodBlocks) {
    throw new ScaleError(`an era's phase must be below its period: current values are ${phaseBlocks}, ${periodBlocks}`);
  }
  return { periodBlocks, phaseBlocks };
}

export function eraBirthBlock({ periodBlocks, phaseBlocks }: Era, headBlock: number): number {
  return Math.floor((Math.max(headBlock, phaseBlocks) - phaseBlocks) / periodBlocks) * periodBlocks + phaseBlocks;
}
