/**
 * Reads the state that decides when the next epoch is due, for either of the runtime's formulas.
 *
 * Owns: distinguishing the two by what the runtime stores: since spec 423 the block of the last epoch, before that
 * nothing, because the schedule follows from block, netuid and tempo. Out of scope: the arithmetic (chain/epochs).
 */

import type { EpochState } from "../../chain.ts";
import { integer } from "../connection/plain_values.ts";
import { needed, recentItem, type StateAt, subtensorItem } from "../connection/state.ts";

export async function readEpochState(state: StateAt, netuid: number): Promise<EpochState> {
  const found = await state.read({
    tempo: subtensorItem("Tempo", [netuid], integer),
    lastEpoch: recentItem("LastEpochBlock", netuid, integer),
    pendingEpoch: recentItem("PendingEpochAt", netuid, integer),
    epochIndex: recentItem("SubnetEpochIndex", netuid, integer),
    blocksSinceLastStep: subtensorItem("BlocksSinceLastStep", [netuid], integer),
  });
  const { blocksSinceLastStep = 0 } = found;
  const common = {
    block: state.block.number,
    netuid,
    tempoBlocks: needed(found.tempo, "Tempo"),
    blocksSinceLastStep,
  };
  if (found.lastEpoch === undefined) return { formula: "legacy", ...common };
  return {
    formula: "stateful",
    ...common,
    lastEpochBlock: found.lastEpoch,
    pendingEpochAtBlock: found.pendingEpoch ?? 0,
    epochIndex: found.epochIndex ?? 0,
  };
}
