/** The input for the answers under chain/local/reads: the state after one block, and further facts. */

import type { Genesis } from "../block/genesis.ts";
import type { Ledger, LocalBlock } from "../block/ledger.ts";
import type { OwnBeacon } from "../block/own_beacon.ts";
import type { StateReader } from "../state/state.ts";

export interface ReadableChain extends Pick<Ledger, "blockHash"> {
  readonly state: StateReader;
  readonly genesis: Genesis;
  readonly beacon: OwnBeacon;
  /** The block whose state this is. */
  head(): Pick<LocalBlock, "number" | "timestampMs">;
}
