/** Predicts the chain's refusals by its own checks in its order: refused calls cost time of a short window. */

import { plural } from "../../core/plural.ts";
import type { Neuron, Refusal, SubnetParameters } from "../chain.ts";
import { isWithinMaxWeight, type WeightsRow } from "../weights/stored_row.ts";
import type { ChainView, DutyOptions } from "./duty.ts";

const unrevealedMax = 10; // per hotkey
const raoPerToken = 1_000_000_000n;

export function standingRefusal(
  view: Pick<ChainView, "metagraph" | "parameters">,
  own: Neuron,
  options: Pick<DutyOptions, "mechanism" | "versionKey">,
): Refusal | null {
  const { parameters } = view;
  if (options.mechanism >= parameters.mechanisms) {
    return refusal("MechanismDoesNotExist", "never", {
      sentence: `the subnet has no mechanism ${options.mechanism}`,
      action: `choose one below ${parameters.mechanisms}`,
    });
  }
  if (own.stakeRao < parameters.stakeThresholdRao) {
    return refusal("NotEnoughStakeToSetWeights", "nextBlock", {
      sentence: `stake ${tokens(own.stakeRao)} is below the threshold ${tokens(parameters.stakeThresholdRao)}`,
      action: stakeMore(parameters.stakeThresholdRao - own.stakeRao),
    });
  }
  const needed = parameters.weightsVersionKey, ours = BigInt(options.versionKey);
  if (needed > 0n && ours < needed) {
    return refusal("IncorrectWeightVersionKey", "afterUpgrade", {
      sentence: `the subnet requires weights of version ${needed}, and this program makes version ${ours}`,
      action: "update this program; until then it sends none",
    });
  }
  const isSingle = parameters.consensus === "null";
  if (!own.hasPermit && (isSingle || parameters.ownerHotkey !== own.hotkey)) {
    return refusal("NeuronNoValidatorPermit", "afterEpoch", {
      sentence: isSingle
        ? "the subnet's consensus is Null: only the hotkey with the most stake may set weights"
        : "the hotkey has no validator permit yet",
      action: permitAction(view, own),
    });
  }
  return null;
}

export const seenByReads: ReadonlySet<string> = new Set([
  ...["MechanismDoesNotExist", "NotEnoughStakeToSetWeights", "IncorrectWeightVersionKey", "NeuronNoValidatorPermit"],
]);

/** Permits go to the largest stakes, and only an epoch grants them. */
export function permitAction(view: Pick<ChainView, "metagraph" | "parameters">, own: Neuron): string {
  const { metagraph, parameters } = view;
  if (own.stakeRao === 0n) return "add stake to the hotkey (`iota chain stake --amount 100`), and wait for an epoch";
  const isSingle = parameters.consensus === "null"; // one permit, whatever the limit
  const validatorsMax = isSingle ? 1 : parameters.maxValidators;
  const stakes = metagraph.neurons.filter((neuron) => neuron.hasPermit).map((neuron) => neuron.stakeRao);
  const least = stakes.reduce((a, b) => a < b ? a : b, stakes[0] ?? 0n);
  if (stakes.length < validatorsMax || own.stakeRao > least) return "the next epoch gives one";
  return `${stakeMore(least - own.stakeRao)}, and wait for an epoch: ` +
    `the subnet has ${plural(validatorsMax, "validator")} and the smallest holds ${tokens(least)}`;
}

export function firstAllowedBlock(options: { lastUpdateBlock: number; parameters: SubnetParameters }): number {
  const { lastUpdateBlock, parameters } = options;
  return lastUpdateBlock === 0 ? 0 : lastUpdateBlock + parameters.weightsRateLimitBlocks;
}

/** `conformWeights` avoids the others. */
export function rowRefusal(view: ChainView, own: Neuron, row: WeightsRow): Refusal | null {
  const { parameters, metagraph } = view;
  const isSelfWeight = row.uids.length === 1 && row.uids[0] === own.uid;
  const known = new Set(metagraph.neurons.map(({ uid }) => uid));
  if (parameters.isCommitReveal && view.commits.length >= unrevealedMax) {
    return refusal("TooManyUnrevealedCommits", "afterEpoch", {
      sentence: `${view.commits.length} commits are waiting to be revealed, and the chain accepts no more`,
      action: "wait until an epoch reveals or drops them",
    });
  }
  if (row.uids.length > metagraph.neurons.length) {
    return internal("UidsLengthExceedUidsInSubNet", "more uids than neurons");
  }
  if (row.uids.some((uid) => !known.has(uid))) return internal("UidVecContainInvalidOne", "a uid without a neuron");
  if (!isSelfWeight && row.uids.length < parameters.minAllowedWeights) {
    return refusal("WeightVecLengthIsLow", "afterEpoch", {
      sentence: `the subnet requires ${
        plural(parameters.minAllowedWeights, "weight")
      }, and the miners with a score are ${row.uids.length}`,
      action: "wait until more miners have worked",
    });
  }
  if (!isSelfWeight && !isWithinMaxWeight(row.values, parameters.maxWeightsLimit)) {
    return internal("MaxWeightExceeded", "a weight above the subnet's maximum");
  }
  return null;
}

function refusal(name: string, retry: Refusal["retry"], text: { sentence: string; action: string }): Refusal {
  return { name, retry, ...text };
}

const internal = (name: string, what: string): Refusal =>
  refusal(name, "afterEpoch", { sentence: `the row has ${what}`, action: "report this with the log" });

const stakeMore = (rao: bigint): string => `stake more on the hotkey (\`iota chain stake --amount ${tokens(rao)}\`)`;

function tokens(rao: bigint): string {
  const hundredths = (rao * 100n + raoPerToken - 1n) / raoPerToken; // rounded up, so that staking it is enough
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")}`;
}
