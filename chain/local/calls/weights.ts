/**
 * set_weights and set_mechanism_weights, with the runtime's checks in its order. Reveals also use `storeWeights`,
 * without the rate limit, which their commit has met.
 */

import type { ChainCall } from "../../call.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { isWithinMaxWeight, upscaled } from "../../weights/stored_row.ts";
import type { BlockScope } from "../state/state.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, keyOf, type SubnetRecord } from "../state/records.ts";
import type { CallError } from "./call_error.ts";

interface WeightsRow {
  readonly netuid: number;
  readonly mechanism: number;
  readonly uids: readonly number[];
  readonly values: readonly number[];
  readonly versionKey: bigint;
}

export function setWeights(
  scope: BlockScope,
  hotkey: AccountKey,
  call: Extract<ChainCall, { type: "setWeights" }>,
): CallError | null {
  const subnet = scope.state.read("subnet", keyOf(call.netuid));
  if (subnet?.hyperparameters.isCommitReveal === true) return "CommitRevealEnabled";
  return storeWeights(scope, hotkey, call);
}

export function storeWeights(scope: BlockScope, hotkey: AccountKey, row: WeightsRow): CallError | null {
  const { state, block } = scope;
  const { netuid, mechanism, uids, values } = row;
  if (netuid === 0) return "CanNotSetRootNetworkWeights";
  if (uids.length !== values.length) return "WeightVecNotEqualSize";
  const missing = missingMechanism(scope, { netuid, mechanism });
  if (missing !== null) return missing;
  const subnet = state.get("subnet", keyOf(netuid));
  if (uids.length > subnet.neuronCount) return "UidsLengthExceedUidsInSubNet";
  const uid = uidOf(state, netuid, hotkey);
  if (uid === null) return "HotKeyNotRegisteredInSubNet";
  const refusal = voterRefusal(scope, { row, subnet, uid, hotkey }) ?? rowRefusal(row, subnet, uid);
  if (refusal !== null) return refusal;
  const key = keyOf(storageIndex({ netuid, mechanism }), uid);
  const stored = upscaled(values);
  state.write("weights", key, uids.map((target, i) => [target, stored[i] ?? 0]));
  if (!subnet.hyperparameters.isCommitReveal) state.change("seat", key, { lastUpdateBlock: block });
  scope.emit({ type: "weightsSet", netuid, mechanism, uid });
  return null;
}

export function missingMechanism(
  { state }: BlockScope,
  of: { readonly netuid: number; readonly mechanism: number },
): CallError | null {
  const subnet = state.read("subnet", keyOf(of.netuid));
  return subnet !== undefined && of.mechanism < subnet.hyperparameters.mechanisms ? null : "MechanismDoesNotExist";
}

export function isInTime(
  { state, block }: BlockScope,
  of: { netuid: number; mechanism: number; uid: number },
): boolean {
  const { lastUpdateBlock } = state.get("seat", keyOf(storageIndex(of), of.uid));
  const { weightsRateLimitBlocks } = state.get("subnet", keyOf(of.netuid)).hyperparameters;
  return lastUpdateBlock === 0 || block - lastUpdateBlock >= weightsRateLimitBlocks;
}

function voterRefusal(scope: BlockScope, of: {
  readonly row: WeightsRow;
  readonly subnet: SubnetRecord;
  readonly uid: number;
  readonly hotkey: AccountKey;
}): CallError | null {
  const { state, genesis } = scope;
  const { row, subnet, uid, hotkey } = of;
  const { weightsVersionKey, isCommitReveal } = subnet.hyperparameters;
  const stake = state.read("stake", keyOf(row.netuid, hotkey)) ?? 0n;
  if (stake < genesis.stakeThresholdRao) return "NotEnoughStakeToSetWeights";
  if (weightsVersionKey !== 0n && row.versionKey < weightsVersionKey) return "IncorrectWeightVersionKey";
  if (!isCommitReveal && !isInTime(scope, { ...row, uid })) return "SettingWeightsTooFast";
  const { hasPermit } = state.get("neuron", keyOf(row.netuid, uid));
  const mayVote = hasPermit || isSelfWeight(row, uid) || subnet.ownerHotkey === hotkey;
  return mayVote ? null : "NeuronNoValidatorPermit";
}

function rowRefusal(row: WeightsRow, subnet: SubnetRecord, uid: number): CallError | null {
  const { uids, values } = row;
  const { minAllowedWeights, maxWeightsLimit } = subnet.hyperparameters;
  if (new Set(uids).size < uids.length) return "DuplicateUids";
  if (uids.some((target) => target >= subnet.neuronCount)) return "UidVecContainInvalidOne";
  if (isSelfWeight(row, uid)) return null; // exempt from length and limit
  if (values.length < Math.min(minAllowedWeights, subnet.neuronCount)) return "WeightVecLengthIsLow";
  return isWithinMaxWeight(values, maxWeightsLimit) ? null : "MaxWeightExceeded";
}

const isSelfWeight = ({ uids, values }: WeightsRow, uid: number): boolean => values.length === 1 && uids[0] === uid;
