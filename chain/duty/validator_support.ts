/**
 * How much of the validators' stake weighs a neuron, which tells why one earns nothing.
 *
 * Consensus clips a weight to what more than half of the voting stake gives, so a minority pays nobody. Owns: whose votes
 * count, and reading them one by one, as public endpoints serve one request per second.
 */

import type { Chain, Metagraph, Neuron, SubnetParameters } from "../chain.ts";

export interface SupportInput {
  readonly own: Neuron;
  readonly metagraph: Metagraph;
  readonly parameters: Pick<SubnetParameters, "stakeThresholdRao">;
}

/** From 0 to 1; weights that are not revealed yet do not count. Rejects with the chain's `ChainError`. */
export async function validatorSupport(chain: Pick<Chain, "weightsOf">, input: SupportInput): Promise<number> {
  const { own, metagraph: { neurons }, parameters } = input;
  const voters = neurons.filter(({ hasPermit, isActive, stakeRao }) =>
    hasPermit && isActive && stakeRao > 0n && stakeRao >= parameters.stakeThresholdRao
  );
  let forRao = 0n;
  for (const { uid, stakeRao, lastUpdateBlock } of voters) {
    if (uid === own.uid || lastUpdateBlock <= own.registeredAtBlock) continue; // its weights are for the uid's former hotkey
    const row = await chain.weightsOf({ uid, mechanism: 0 });
    if (row.some((weight) => weight.uid === own.uid && weight.value > 0)) forRao += stakeRao;
  }
  const allRao = voters.reduce((sum, { stakeRao }) => sum + stakeRao, 0n);
  return allRao === 0n ? 0 : Number(forRao * 1_000_000n / allRao) / 1_000_000;
}
