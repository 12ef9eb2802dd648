/** What the answers under chain/local/reads are made from. */

import type { Beacon } from "../../timelock/beacon.ts";
import type { BlockScope } from "../block_scope.ts";
import type { Genesis } from "../genesis.ts";
import type { Ledger } from "../ledger.ts";
import type { State } from "../state/state.ts";

export interface ReadableChain extends Pick<Ledger, "head" | "blockHash"> {
  readonly state: State;
  readonly genesis: Genesis;
  readonly beacon: { readonly beacon: Beacon };
  /** As a call of the next block would see the state now. */
  nextScope(): BlockScope;
}
