/** What code that runs inside a block may see: the state, the rules, the time, the beacon. There is no other input. */

import type { ChainEvent } from "./events.ts";
import type { Genesis } from "./genesis.ts";
import type { State } from "./state/state.ts";

export interface BlockScope {
  readonly state: State;
  readonly genesis: Genesis;
  readonly block: number; // the one being made; between blocks the next one
  readonly lastRound: bigint; // newest drand round the chain knows
  /** A known round's pulse; null when it is not published yet. */
  pulse(round: bigint): Uint8Array | null;
  emit(event: ChainEvent): void;
}
