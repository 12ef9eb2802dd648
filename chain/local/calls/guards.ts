/**
 * The runtime's checks on weights calls before the call itself runs.
 *
 * Since spec 417 these are dispatch extensions, so the block reports their error; before, they were part of the pool, which
 * refused with a custom code (`preChecks`). They run first, so they hide the call's own errors: a reveal of anything but a
 * committed row is `NoWeightsCommitFound`, and one outside its epoch `RevealTooEarly`, even if it is too late.
 */

import type { ChainCall } from "../../call.ts";
import type { LedgerCall } from "../block/ledger.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/state.ts";
import { epochIndexIn } from "../epoch/schedule.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, keyOf } from "../state/records.ts";
import type { CallError } from "./call_error.ts";
import { commitHash } from "./commit_reveal.ts";
import { isInTime, missingMechanism } from "./weights.ts";

type Reveal = Extract<ChainCall, { type: "revealWeights" }>;

export function guardRefusal(scope: BlockScope, hotkey: AccountKey, call: LedgerCall): CallError | null {
  switch (call.type) {
    case "setWeights": {
      const isDirect = scope.state.read("subnet", keyOf(call.netuid))?.hyperparameters.isCommitReveal === false;
      return stakeRefusal(scope, hotkey, call.netuid) ??
        (isDirect ? paceRefusal(scope, { hotkey, call, error: "SettingWeightsTooFast" }) : null);
    }
    case "commitWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ??
        paceRefusal(scope, { hotkey, call, error: "CommittingWeightsTooFast" });
    case "commitTimelockedWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ??
        (call.revealRound < scope.lastRound ? "InvalidRevealRound" : null) ??
        paceRefusal(scope, { hotkey, call, error: "CommittingWeightsTooFast" });
    case "revealWeights":
      return stakeRefusal(scope, hotkey, call.netuid) ?? revealRefusal(scope, hotkey, call);
    default:
      return null;
  }
}

function stakeRefusal({ state, genesis }: BlockScope, hotkey: AccountKey, netuid: number): CallError | null {
  const stake = state.read("stake", keyOf(netuid, hotkey)) ?? 0n;
  return stake < genesis.stakeThresholdRao ? "NotEnoughStakeToSetWeights" : null;
}

/** Null for unregistered hotkeys and missing mechanisms: the call itself reports those. */
function paceRefusal(scope: BlockScope, of: {
  readonly hotkey: AccountKey;
  readonly call: { readonly netuid: number; readonly mechanism: number };
  readonly error: CallError;
}): CallError | null {
  const { netuid, mechanism } = of.call;
  const uid = uidOf(scope.state, netuid, of.hotkey);
  if (uid === null || missingMechanism(scope, of.call) !== null) return null;
  return isInTime(scope, { netuid, mechanism, uid }) ? null : of.error;
}

function revealRefusal(scope: BlockScope, hotkey: AccountKey, call: Reveal): CallError | null {
  if (missingMechanism(scope, call) !== null) return "NoWeightsCommitFound";
  const hash = commitHash(hotkey, call);
  const commit = scope.state.read("salted", keyOf(storageIndex(call), hotkey))?.find((each) => each.hash === hash);
  if (commit === undefined) return "NoWeightsCommitFound";
  const { revealPeriodEpochs } = scope.state.get("subnet", keyOf(call.netuid)).hyperparameters;
  return epochIndexIn(scope, call.netuid) === commit.epoch + revealPeriodEpochs ? null : "RevealTooEarly";
}
