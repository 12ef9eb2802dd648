/**
 * Salted commits, revealed by their sender, and timelocked ones (reveal.ts). They can be revealed only
 * `revealPeriodEpochs` after their epoch. A commit stamps LastUpdate, so the rate limit counts from there.
 */

import type { ChainCall } from "../../call.ts";
import { saltedCommitHash, storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/state.ts";
import { epochIndexIn, timelockedEpochIn } from "../epoch/schedule.ts";
import { hashBytes } from "../block/header.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, addressOf, keyOf, type SaltedCommit } from "../state/records.ts";
import type { CallError } from "./call_error.ts";
import { isInTime, missingMechanism, storeWeights } from "./weights.ts";

const unrevealedMax = 10; // per hotkey; timelocked ones also per epoch
export const commitBytesMax = 5_000; // a longer one cannot be encoded

type CommitOrReveal = Extract<ChainCall, { type: "commitWeights" | "commitTimelockedWeights" | "revealWeights" }>;

export function commitWeights(
  scope: BlockScope,
  hotkey: AccountKey,
  call: Extract<ChainCall, { type: "commitWeights" }>,
): CallError | null {
  const { state, block } = scope;
  const refusal = missingMechanism(scope, call) ?? modeRefusal(scope, call) ?? senderRefusal(scope, hotkey, call);
  if (refusal !== null) return refusal;
  const index = storageIndex(call);
  const live = liveCommits(scope, hotkey, call);
  if (live.length >= unrevealedMax) return "TooManyUnrevealedCommits";
  const commit = { hash: call.hash.toHex(), epoch: epochIndexIn(scope, call.netuid), block };
  state.write("salted", keyOf(index, hotkey), [...live, commit]);
  scope.emit({ type: "weightsCommitted", ...placeOf(hotkey, call), hash: commit.hash });
  stampUpdate(scope, hotkey, call);
  return null;
}

export function commitTimelockedWeights(
  scope: BlockScope,
  hotkey: AccountKey,
  call: Extract<ChainCall, { type: "commitTimelockedWeights" }>,
): CallError | null {
  const { state, genesis, block } = scope;
  const refusal = missingMechanism(scope, call) ?? modeRefusal(scope, call) ??
    (call.commitRevealVersion === genesis.commitRevealVersion ? null : "IncorrectCommitRevealVersion") ??
    senderRefusal(scope, hotkey, call);
  if (refusal !== null) return refusal;
  const key = keyOf(storageIndex(call), timelockedEpochIn(scope, call.netuid));
  const commits = state.read("timelocked", key) ?? [];
  if (commits.filter((commit) => commit.hotkey === hotkey).length >= unrevealedMax) return "TooManyUnrevealedCommits";
  state.write("timelocked", key, [...commits, { hotkey, block, commit: call.commit.toHex(), round: call.revealRound }]);
  const { revealRound } = call, hash = hashBytes(call.commit).toHex();
  scope.emit({ type: "timelockedCommitted", ...placeOf(hotkey, call), hash, revealRound });
  stampUpdate(scope, hotkey, call);
  return null;
}

export function revealWeights(
  scope: BlockScope,
  hotkey: AccountKey,
  call: Extract<ChainCall, { type: "revealWeights" }>,
): CallError | null {
  const { state } = scope;
  if (state.read("subnet", keyOf(call.netuid)) === undefined) return "SubnetNotExists";
  const disabled = modeRefusal(scope, call);
  if (disabled !== null) return disabled;
  if (missingMechanism(scope, call) !== null) return "NoWeightsCommitFound";
  const key = keyOf(storageIndex(call), hotkey);
  const commits = state.read("salted", key);
  if (commits === undefined) return "NoWeightsCommitFound";
  const hash = commitHash(hotkey, call);
  const live = liveCommits(scope, hotkey, call);
  const position = live.findIndex((commit) => commit.hash === hash);
  const commit = live[position];
  if (commit === undefined) {
    if (commits.some((expired) => expired.hash === hash)) return "ExpiredWeightCommit";
    return live.length === 0 ? "NoWeightsCommitFound" : "InvalidRevealCommitHashNotMatch";
  }
  if (epochIndexIn(scope, call.netuid) !== commit.epoch + revealPeriod(scope, call)) return "RevealTooEarly";
  const left = live.slice(position + 1); // revealing one drops those before it
  if (left.length === 0) state.remove("salted", key);
  else state.write("salted", key, left);
  const refusal = storeWeights(scope, hotkey, call);
  if (refusal === null) scope.emit({ type: "saltedRevealed", ...placeOf(hotkey, call), hash });
  return refusal;
}

export function commitHash(hotkey: AccountKey, call: Extract<ChainCall, { type: "revealWeights" }>): string {
  const { netuid, mechanism, uids, values, salt, versionKey } = call;
  const publicKey = Uint8Array.fromHex(hotkey);
  return saltedCommitHash({ publicKey, netuid, mechanism, row: { uids, values }, salt, versionKey }).toHex();
}

function liveCommits(scope: BlockScope, hotkey: AccountKey, call: CommitOrReveal): readonly SaltedCommit[] {
  const commits = scope.state.read("salted", keyOf(storageIndex(call), hotkey)) ?? [];
  const epoch = epochIndexIn(scope, call.netuid), period = revealPeriod(scope, call);
  return commits.filter((commit) => epoch <= commit.epoch + period);
}

const placeOf = (hotkey: AccountKey, { netuid, mechanism }: CommitOrReveal) => ({
  ...{ netuid, mechanism, hotkey: addressOf(hotkey) },
});

const revealPeriod = ({ state }: BlockScope, call: CommitOrReveal): number =>
  state.get("subnet", keyOf(call.netuid)).hyperparameters.revealPeriodEpochs;

const modeRefusal = ({ state }: BlockScope, call: CommitOrReveal): CallError | null =>
  state.get("subnet", keyOf(call.netuid)).hyperparameters.isCommitReveal ? null : "CommitRevealDisabled";

function senderRefusal(scope: BlockScope, hotkey: AccountKey, call: CommitOrReveal): CallError | null {
  const uid = uidOf(scope.state, call.netuid, hotkey);
  if (uid === null) return "HotKeyNotRegisteredInSubNet";
  return isInTime(scope, { ...call, uid }) ? null : "CommittingWeightsTooFast";
}

function stampUpdate(scope: BlockScope, hotkey: AccountKey, call: CommitOrReveal): void {
  const uid = uidOf(scope.state, call.netuid, hotkey) ?? 0;
  const key = keyOf(storageIndex(call), uid);
  scope.state.change("seat", key, { lastUpdateBlock: scope.block });
}
