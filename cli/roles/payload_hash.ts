/** The hash that a miner signs for a whole payload: over the hashes of its slices, in order. */

import { createHash } from "node:crypto";
import type { BlobRef } from "../../core/ids.ts";

export function payloadHash(slices: readonly BlobRef[]): string {
  return createHash("sha256").update(`payload ${slices.map(({ hash }) => hash).join(" ")}`).digest("hex");
}
