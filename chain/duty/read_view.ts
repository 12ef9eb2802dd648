/**
 * Performs the duty's `read`: one look at the chain. Rejects with the chain's `ChainError`.
 */

import type { Chain } from "../chain.ts";
import type { Address } from "../call.ts";
import type { ChainView } from "./duty.ts";

export async function readView(
  chain: Pick<Chain, "metagraph" | "parameters" | "epochState" | "weightsOf" | "pendingCommits">,
  options: { hotkey: Address; mechanism: number },
): Promise<ChainView> {
  const { hotkey, mechanism } = options;
  const [metagraph, parameters] = await Promise.all([chain.metagraph(), chain.parameters()]);
  const own = metagraph.neurons.find((neuron) => neuron.hotkey === hotkey);
  const [row, commits, epoch] = await Promise.all([
    own === undefined ? [] : chain.weightsOf({ uid: own.uid, mechanism }),
    own === undefined ? [] : chain.pendingCommits({ hotkey, mechanism }),
    chain.epochState(),
  ]);
  return { metagraph, parameters, epoch, row, commits };
}
