/** A local chain on which further accounts begin with what //Alice and //Bob have. */

import type { Address } from "../../../chain/call.ts";
import { type Genesis, type GenesisOptions, localGenesis } from "../../../chain/local/block/genesis.ts";

export function endowedGenesis(addresses: readonly Address[], options: GenesisOptions = {}): Genesis {
  const genesis = localGenesis(options);
  const { accounts } = genesis;
  const added = new Set(addresses.filter((address) => !accounts.some((account) => account.address === address)));
  const { freeRao } = accounts[0]!;
  return { ...genesis, accounts: [...accounts, ...[...added].map((address) => ({ address, freeRao }))] };
}
