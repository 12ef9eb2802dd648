/**
 * What a symbolic tensor holds, as far as its numbers are examined: ordinary values, values far too large, or NaN.
 *
 * A bad tensor carries its kind at the front of its name, where no digest has it.
 */

import { type BlobHash, blobHash, type BlobRef } from "../../../../core/ids.ts";
import type { PayloadStats } from "../../../../core/update/payload_stats.ts";
import type { Slice } from "../../../../core/protocol/merge_messages.ts";

const kinds = { nan: Infinity, huge: 1e30 } as const;
export type BadNumbers = keyof typeof kinds;

const ordinary = 1;

export function spoiltHash(kind: BadNumbers, hash: BlobHash): BlobHash {
  return blobHash(`${kind} ${hash}`);
}

/** Largest absolute value; Infinity if any value is non-finite. */
export function largestOf({ hash }: BlobRef): number {
  for (const [kind, largest] of Object.entries(kinds)) if (hash.startsWith(`${kind} `)) return largest;
  return ordinary;
}

const ordinaryStep = 1e-9; // a value of a payload: within what any learning rate allows

/** Of all slices of a payload together. `layout`: what each represents. */
export function statsOf(slices: readonly BlobRef[], layout: readonly Slice[]): PayloadStats {
  const largest = slices.reduce((most, ref) => Math.max(most, largestOf(ref)), 0);
  const value = largest === ordinary ? ordinaryStep : largest;
  const values = layout.reduce((sum, { size }) => sum + size, 0);
  return { isFinite: Number.isFinite(value), squareSum: values * value ** 2, largest: value };
}

export const isFinite = (ref: BlobRef): boolean => Number.isFinite(largestOf(ref));
