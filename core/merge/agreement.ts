/**
 * What the reducers' hashes of one slice say. Honest results are equal by hash, because the merge adds in a fixed order.
 *
 * Two that agree are believed (a colluding pair can lie unseen on its own slice).
 * Two that differ prove that one lies but not who; a third settles it. Order of arrival does not matter.
 */

import { assert } from "../assert.ts";
import type { BlobHash } from "../ids.ts";

export type Agreement =
  | { readonly type: "waiting" } // for the second reducer
  | { readonly type: "needsThird" }
  | { readonly type: "accepted"; readonly hash: BlobHash; readonly liars: readonly number[] } // positions in the argument
  | { readonly type: "unresolved" }; // three answers, no two alike: the slice keeps its old values

export function agreement(hashes: readonly BlobHash[]): Agreement {
  assert(hashes.length <= 3, `Cannot compare reducers as a slice has at most three: current value is ${hashes.length}`);
  const believed = hashes.find((hash, position) => hashes.indexOf(hash) !== position);
  if (believed !== undefined) {
    const liars = hashes.flatMap((hash, position) => hash === believed ? [] : [position]);
    return { type: "accepted", hash: believed, liars };
  }
  if (hashes.length < 2) return { type: "waiting" };
  return { type: hashes.length === 2 ? "needsThird" : "unresolved" };
}
