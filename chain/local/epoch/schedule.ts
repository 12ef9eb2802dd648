/** When a subnet's epoch is due. Unlike on the real chain, none is deferred. */

import type { BlockScope } from "../state/state.ts";
import { keyOf } from "../state/records.ts";

const longestTempoBlocks = 50_400;

export function isEpochDue({ state, genesis, block }: BlockScope, netuid: number): boolean {
  const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
  if (tempoBlocks === 0) return false;
  if (genesis.epochs === "legacy") return (block + netuid + 1) % (tempoBlocks + 1) === tempoBlocks;
  const clock = state.get("clock", keyOf(netuid));
  const isAsked = clock.pendingEpochAtBlock > 0 && block >= clock.pendingEpochAtBlock;
  return isAsked || clock.blocksSinceLastStep > longestTempoBlocks || block - clock.lastEpochBlock >= tempoBlocks;
}

/** Before its epoch runs, a block belongs to the next one. */
export function epochIndexIn(scope: BlockScope, netuid: number): number {
  const { state, genesis, block } = scope;
  if (genesis.epochs === "legacy") {
    const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
    return Math.floor((block + netuid + 1) / (tempoBlocks + 1)); // the old one in the epoch's own block
  }
  return state.get("clock", keyOf(netuid)).epochIndex + (isEpochDue(scope, netuid) ? 1 : 0);
}

export function timelockedEpochIn(scope: BlockScope, netuid: number): number {
  const isEarly = scope.genesis.epochs === "legacy" && isEpochDue(scope, netuid);
  return epochIndexIn(scope, netuid) + (isEarly ? 1 : 0);
}
