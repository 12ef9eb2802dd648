/** A block's steps before its calls, in the runtime's order. */

import type { BlockScope } from "./state/state.ts";
import { addSubnet, claimHotkey, decayBurn } from "./calls/registration.ts";
import { emitBlock } from "./epoch/emission.ts";
import { runEpoch } from "./epoch/epoch_run.ts";
import { revealDue } from "./calls/reveal.ts";
import { isEpochDue } from "./epoch/schedule.ts";
import { accountOf, keyOf, theChain } from "./state/records.ts";

export function beginBlock(scope: BlockScope, timestampMs: number): void {
  const { state } = scope;
  state.change("chain", theChain, { timestampMs });
  const { netuids } = state.get("chain", theChain);
  for (const netuid of netuids) decayBurn(scope, netuid);
  for (const netuid of netuids) revealDue(scope, netuid);
  for (const netuid of netuids) emitBlock(scope, netuid);
  for (const netuid of netuids) {
    const { blocksSinceLastStep } = state.get("clock", keyOf(netuid));
    state.change("clock", keyOf(netuid), { blocksSinceLastStep: blocksSinceLastStep + 1 });
    if (isEpochDue(scope, netuid)) runEpoch(scope, netuid);
  }
}

export function beginChain(scope: BlockScope): void {
  const { state, genesis } = scope;
  const issuanceRao = genesis.accounts.reduce((sum, { freeRao }) => sum + freeRao, 0n);
  state.write("chain", theChain, {
    ...{ timestampMs: genesis.startMs, issuanceRao, remainderRao: 0n, netuids: [] },
    ...{ lastLockRao: genesis.networkMinLockRao, lastLockBlock: 0 },
  });
  for (const { address, freeRao } of genesis.accounts) {
    state.write("account", accountOf(address), { freeRao, nonce: 0 });
  }
  for (const subnet of genesis.subnets) {
    const coldkey = accountOf(subnet.ownerColdkey), hotkey = accountOf(subnet.ownerHotkey);
    claimHotkey(scope, { coldkey, hotkey });
    const { netuid, hyperparameters } = subnet;
    addSubnet(scope, { netuid, coldkey, hotkey, lockRao: 0n, hyperparameters });
  }
}
