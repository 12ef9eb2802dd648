/** Performs the duty's `read` of the chain. Rejects with the chain's `ChainError`. */

import type { Chain } from "../chain.ts";
import type { Address } from "../call.ts";
import type { BlockRange, ChainView } from "./duty.ts";

export async function readView(
  chain: Pick<
    Chain,
    "finalizedBlock" | "metagraph" | "parameters" | "epochState" | "weightsOf" | "pendingCommits" | "weightCallsOf"
  >,
  options: { hotkey: Address; mechanism: number; blocks?: BlockRange | null },
): Promise<ChainView> {
  const { hotkey, mechanism, blocks = null } = options;
  const finalizedBlock = await chain.finalizedBlock(); // first: the blocks read below build on it
  const [metagraph, parameters] = await Promise.all([chain.metagraph(), chain.parameters()]);
  const own = metagraph.neurons.find((neuron) => neuron.hotkey === hotkey);
  const [row, commits, epoch, landedBlocks] = await Promise.all([
    own === undefined ? [] : chain.weightsOf({ uid: own.uid, mechanism }),
    own === undefined ? [] : chain.pendingCommits({ hotkey, mechanism }),
    chain.epochState(),
    blocks === null ? [] : chain.weightCallsOf({ hotkey, mechanism, ...blocks }),
  ]);
  return {
    finalizedBlock,
    metagraph,
    parameters,
    epoch,
    row,
    commits,
    calls: blocks && { range: blocks, landedBlocks },
  };
}
