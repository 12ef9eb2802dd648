/**
 * What a symbolic tensor holds, as far as anybody looks at its numbers: ordinary values, values far too large, or NaN.
 *
 * A bad tensor carries its kind at the front of its name, where no digest has it.
 */

import { type BlobHash, blobHash, type BlobRef } from "../../core/ids.ts";

const kinds = { nan: Infinity, huge: 1e30 } as const;
export type BadNumbers = keyof typeof kinds;

const ordinary = 1;

export function spoiltHash(kind: BadNumbers, hash: BlobHash): BlobHash {
  return blobHash(`${kind} ${hash}`);
}

/** Largest absolute value, Infinity where one is not finite. */
export function largestOf({ hash }: BlobRef): number {
  for (const [kind, largest] of Object.entries(kinds)) if (hash.startsWith(`${kind} `)) return largest;
  return ordinary;
}

export const isFinite = (ref: BlobRef): boolean => Number.isFinite(largestOf(ref));
