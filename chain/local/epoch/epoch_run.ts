/**
 * An epoch of a subnet: runs the consensus of each mechanism, then stores and pays the result.
 *
 * Owns: the order (read everything, decide, pay, write) and the epoch clock. Neurons' shares are averages over mechanisms.
 */

import { storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/block_scope.ts";
import { keyOf } from "../state/records.ts";
import { type ConsensusOutput, runConsensus } from "./consensus.ts";
import { payOut } from "./emission.ts";
import { type EpochInput, epochInput } from "./epoch_inputs.ts";
import { type Fixed, u16OfShare } from "./fixed.ts";

export function runEpoch(scope: BlockScope, netuid: number): void {
  const { state, block } = scope;
  const subnet = state.get("subnet", keyOf(netuid));
  const mechanisms = Array.from({ length: subnet.hyperparameters.mechanisms }, (_, mechanism) => {
    const input = epochInput(scope, netuid, mechanism);
    return { mechanism, input, output: runConsensus(input) };
  });
  const payout = payOut(scope, netuid, mechanisms.map(({ output }) => output));
  for (let uid = 0; uid < subnet.neuronCount; uid++) {
    const first = mechanisms[0];
    const average = (field: "consensus" | "dividends" | "validatorTrust"): number =>
      u16OfShare(averageOf(mechanisms.map(({ output }) => output[field][uid] ?? 0n)));
    state.change("neuron", keyOf(netuid, uid), {
      isActive: first?.input.isActive[uid] ?? false,
      hasPermit: first?.output.permits[uid] ?? false,
      consensus: average("consensus"),
      dividends: average("dividends"),
      validatorTrust: average("validatorTrust"),
      emissionRao: payout.byUid[uid] ?? 0n,
    });
  }
  for (const { mechanism, input, output } of mechanisms) {
    writeMechanism(scope, storageIndex({ netuid, mechanism }), { input, output });
  }
  advanceClock(scope, netuid);
  const { ownerRao, minersRao, validatorsRao, burnedRao, remainderRao } = payout;
  const index = state.get("clock", keyOf(netuid)).epochIndex;
  scope.emit({ type: "epochRan", netuid, index, ownerRao, minersRao, validatorsRao, burnedRao, remainderRao });
  state.change("clock", keyOf(netuid), { lastStepBlock: block });
}

function writeMechanism(
  { state }: BlockScope,
  index: number,
  epoch: { readonly input: EpochInput; readonly output: ConsensusOutput },
): void {
  epoch.output.incentive.forEach((incentive, uid) => {
    const key = keyOf(index, uid);
    state.change("seat", key, { incentive: u16OfShare(incentive) });
    const bonds = epoch.output.bonds[uid] ?? [];
    if (bonds.length > 0) state.write("bonds", key, bonds);
    else if (state.read("bonds", key) !== undefined) state.remove("bonds", key);
  });
}

function advanceClock({ state, block }: BlockScope, netuid: number): void {
  const clock = state.get("clock", keyOf(netuid));
  state.change("clock", keyOf(netuid), {
    lastEpochBlock: block,
    pendingEpochAtBlock: 0,
    epochIndex: clock.epochIndex + 1,
    blocksSinceLastStep: 0,
  });
}

const averageOf = (shares: readonly Fixed[]): Fixed =>
  shares.length === 0 ? 0n : shares.reduce((sum, share) => sum + share, 0n) / BigInt(shares.length);
