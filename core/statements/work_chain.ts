/**
 * The chain over a miner's steps: each link commits to the roots of all steps that it took since its stage was
 * assigned.
 *
 * Miner and orchestrator extend it when a step header counts the miner's work, so they agree on it as on its
 * parameters. Out of scope: the roots (work_tree.ts), signatures.
 */

import { sha256 } from "../sha256.ts";

/** For a miner that has taken no step since its stage was assigned. */
export const chainStart = "0".repeat(64);

export interface ChainLink {
  readonly round: number;
  readonly step: number;
  readonly root: string;
}

export function nextHead(previous: string, { round, step, root }: ChainLink): string {
  return sha256(`step ${previous} ${round} ${step} ${root}`);
}
