/**
 * A trained tokenizer is an ordered list of merges. Ids: 0–255 are the bytes, 256 + i is merge i, the last is
 * `<|endoftext|>`.
 */

export interface BpeModel {
  readonly merges: readonly (readonly [left: number, right: number])[];
}

export const byteTokens = 256;

export function vocabSizeOf(model: BpeModel): number {
  return byteTokens + model.merges.length + 1;
}

/** Ids stay below 2^20, so a pair is one exact number that sorts by (left, right). */
export const idLimit = 2 ** 20;

export const pairKey = (left: number, right: number): number => left * idLimit + right;
export const pairLeft = (pair: number): number => Math.floor(pair / idLimit);
export const pairRight = (pair: number): number => pair % idLimit;
