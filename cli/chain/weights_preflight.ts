/** Whether the chain would accept these weights now, and if only time is missing, until which block. */

import { plural } from "../terminal/text/format.ts";
import type { Neuron, Refusal } from "../../chain/chain.ts";
import type { ChainView } from "../../chain/duty/duty.ts";
import { firstAllowedBlock, rowRefusal, standingRefusal } from "../../chain/duty/preflight.ts";
import { nextEpochBlock } from "../../chain/epochs/epochs.ts";
import type { WeightsRow } from "../../chain/weights/stored_row.ts";
import { inBlocks } from "./text/chain_words.ts";

interface Hindrance {
  readonly refusal: Refusal;
  readonly untilBlock: number | null; // null: time does not help
}

export interface PlannedWeights {
  readonly view: ChainView;
  readonly own: Neuron;
  readonly row: WeightsRow;
  readonly mechanism: number;
  readonly versionKey: bigint;
}

/** Null: no obstacle. */
export function hindranceOf(planned: PlannedWeights): Hindrance | null {
  const { view, own, row, mechanism, versionKey } = planned;
  const isSelfWeight = row.uids.length === 1 && row.uids[0] === own.uid;
  const standing = standingRefusal(view, own, { mechanism, versionKey: String(versionKey) });
  const isExempt = isSelfWeight && standing?.name === "NeuronNoValidatorPermit" &&
    view.parameters.consensus === "yuma"; // there this needs no permit
  if (standing !== null && !isExempt) {
    const isPermit = standing.name === "NeuronNoValidatorPermit" && isPermitNext(view, own);
    return dated(view, standing, isPermit ? nextEpochBlock(view.epoch) : null);
  }
  const tooFast = mechanism === 0 ? rateHindrance(view, own) : null; // only the chain knows other mechanisms' clocks
  if (tooFast !== null) return tooFast;
  const refusal = rowRefusal(view, own, row);
  if (refusal === null) return null;
  return dated(view, refusal, refusal.name === "TooManyUnrevealedCommits" ? nextEpochBlock(view.epoch) : null);
}

/** The next epoch gives permits to the largest stakes. Only a largest stake is certain to get one. */
function isPermitNext({ parameters, metagraph: { neurons } }: ChainView, { stakeRao, uid }: Neuron): boolean {
  if (parameters.consensus === "yuma") return stakeRao > 0n;
  return stakeRao > 0n && neurons.every((each) => each.uid === uid || each.stakeRao < stakeRao);
}

function rateHindrance(view: ChainView, own: Neuron): Hindrance | null {
  const { parameters, metagraph: { block } } = view;
  const { lastUpdateBlock, registeredAtBlock } = own;
  const allowedBlock = firstAllowedBlock({ lastUpdateBlock, parameters });
  if (allowedBlock <= block + 1) return null;
  const what = lastUpdateBlock > registeredAtBlock
    ? "the last weights are"
    : "the registration, which counts as well, is";
  const refusal: Refusal = {
    name: parameters.isCommitReveal ? "CommittingWeightsTooFast" : "SettingWeightsTooFast",
    sentence: `${what} ${plural(block - lastUpdateBlock, "block")} old and the subnet accepts weights every ` +
      `${plural(parameters.weightsRateLimitBlocks, "block")}`,
    action: "try again",
    retry: "afterRateLimit",
  };
  return dated(view, refusal, allowedBlock - 1);
}

function dated(
  { metagraph: { block }, parameters: { blockMs } }: ChainView,
  refusal: Refusal,
  untilBlock: number | null,
) {
  if (untilBlock === null) return { refusal, untilBlock };
  const action = `${refusal.action} ${inBlocks(untilBlock - block, blockMs)}; --wait waits for it`;
  return { refusal: { ...refusal, action }, untilBlock };
}
