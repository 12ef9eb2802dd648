/** What code that runs inside a block may see: the state, the rules, the time, the beacon. There is no other input. */

import type { ChainEvent } from "./events.ts";
import type { Genesis } from "./genesis.ts";
import type { State } from "./state/state.ts";

export interface BlockScope {
  readonly state: State;
  readonly genesis: Genesis;
  readonly block: number; // the one being made; between blocks the next one
  readonly lastRound: bigint; // newest drand round the chain knows
  /** The pulses of a round that is out: the chain's own, then quicknet's where it was learnt. None: the round is not out. */
  pulses(round: bigint): readonly Uint8Array[];
  /** Whether quicknet's pulse of a round may still be learnt: what the chain's own does not open waits for it. */
  awaitsPulse(round: bigint): boolean;
  emit(event: ChainEvent): void;
}
