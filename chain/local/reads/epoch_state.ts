/** A subnet's epoch clock in the roles' form. */

import type { EpochState } from "../../chain.ts";
import { keyOf } from "../state/records.ts";
import type { ReadableChain } from "./readable_chain.ts";

export function epochStateOf(chain: ReadableChain, netuid: number): EpochState {
  const { state, genesis } = chain;
  const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
  const block = chain.head().number;
  const { lastEpochBlock, pendingEpochAtBlock, epochIndex, blocksSinceLastStep } = state.get("clock", keyOf(netuid));
  const common = { block, netuid, tempoBlocks, blocksSinceLastStep };
  if (genesis.epochs === "legacy") return { formula: "legacy", ...common };
  return { formula: "stateful", ...common, lastEpochBlock, pendingEpochAtBlock, epochIndex };
}
