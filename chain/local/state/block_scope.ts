/** The inputs of code that runs inside a block: the state, the rules, the time, the beacon. There are no others. */

import type { ChainEvent } from "../block/events.ts";
import type { Genesis } from "../block/genesis.ts";
import type { State } from "./state.ts";

export interface BlockScope {
  readonly state: State;
  readonly genesis: Genesis;
  readonly block: number; // the block being made; between blocks, the next one
  readonly lastRound: bigint; // newest drand round the chain knows
  /** The pulses of a published round: the chain's own, then quicknet's if known. Empty: the round is not published yet. */
  pulses(round: bigint): readonly Uint8Array[];
  /** Whether quicknet's pulse of a round may still arrive; commits that the chain's own pulse does not open wait for it. */
  awaitsPulse(round: bigint): boolean;
  emit(event: ChainEvent): void;
}
