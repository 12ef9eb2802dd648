/**
 * The production's segments without bytes: a content is its own name. And what a checker asks about them.
 */

import type { BlobRef } from "../../../../core/ids.ts";
import { Segments } from "../../../../cli/roles/segments.ts";
import type { Dice } from "../dice.ts";

export type SymbolicSegments = Segments<BlobRef>;

export function symbolicSegments(): SymbolicSegments {
  return new Segments<BlobRef>((ref) => ref);
}

/** Whether exactly these are held, each as often as it is named. */
export function holdsExactly(segments: SymbolicSegments, named: readonly BlobRef[]): boolean {
  const times = new Map<string, number>();
  for (const { hash } of named) times.set(hash, (times.get(hash) ?? 0) + 1);
  return segments.holders === named.length && named.every((ref) => segments.holdersOf(ref) === times.get(ref.hash));
}

/** A killed process loses all its segments; a stopped one has saved them; a half-written file has some. */
export function lostWithProcess(dice: Dice, named: readonly BlobRef[]): ReadonlySet<string> {
  const kind = dice.below(3);
  if (kind === 0) return new Set();
  return new Set(named.map(({ hash }) => hash).filter(() => kind === 1 || dice.below(2) === 0));
}
