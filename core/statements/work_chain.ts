/**
 * The chain over a miner's steps since its stage was assigned. Miner and orchestrator extend it when a step header
 * counts the miner's work, so they agree on it as on its parameters.
 */

import { sha256 } from "../sha256.ts";

export const chainStart = "0".repeat(64);

export interface ChainLink {
  readonly round: number;
  readonly step: number;
  readonly root: string;
}

export function nextHead(previous: string, { round, step, root }: ChainLink): string {
  return sha256(`step ${previous} ${round} ${step} ${root}`);
}
