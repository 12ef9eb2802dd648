/**
 * What an epoch paid a neuron: the growth of its stake. The chain's `emission` includes incentive that is burned (the
 * owner's hotkeys) or that the coldkey directs to another hotkey.
 */

import type { Address } from "../call.ts";
import type { Chain, EpochState, Neuron, SubnetParameters } from "../chain.ts";

interface PaidNeuron {
  readonly own: Neuron;
  readonly parameters: Pick<SubnetParameters, "ownerHotkey">;
  readonly epoch: EpochState;
}

/**
 * At most the emission, because the coldkey may have added stake in that block. Null: the earlier state can no longer
 * be read.
 */
export async function paidInLastEpoch(
  chain: Pick<Chain, "alphaOf">,
  { own: { hotkey, emissionRao, dividends }, parameters, epoch }: PaidNeuron,
): Promise<bigint | null> {
  if (emissionRao === 0n) return 0n;
  if (hotkey === parameters.ownerHotkey && dividends === 0) return 0n; // the owner's cut grows this stake
  const epochBlock = epoch.block - epoch.blocksSinceLastStep;
  const before = await chain.alphaOf({ hotkey, block: epochBlock - 1 });
  const after = await chain.alphaOf({ hotkey, block: epochBlock });
  if (before === null || after === null) return null;
  const gained = after - before;
  return gained < 0n ? 0n : gained > emissionRao ? emissionRao : gained;
}

export function isBurned(
  { hotkey, coldkey }: { readonly hotkey: Address; readonly coldkey: Address },
  { ownerHotkey, ownerColdkey }: Pick<SubnetParameters, "ownerHotkey" | "ownerColdkey">,
): boolean {
  return coldkey === ownerColdkey || hotkey === ownerHotkey;
}

/** The chain's shares round off less than a thousandth. */
export const isWhole = ({ paidRao, emissionRao }: { paidRao: bigint; emissionRao: bigint }): boolean =>
  emissionRao - paidRao <= emissionRao / 1_000n;

export function payText(
  { paidRao, emissionRao, isBurned, share }: {
    readonly paidRao: bigint | null;
    readonly emissionRao: bigint;
    readonly isBurned: boolean;
    readonly share: string;
  },
): string {
  const all = `${alpha(emissionRao)} alpha`;
  if (paidRao === null) return `was allotted ${all} by the last epoch${share}; its stake before can no longer be read`;
  const missingRao = emissionRao - paidRao;
  if (isWhole({ paidRao, emissionRao })) return `earned ${alpha(paidRao)} alpha in the last epoch${share}`;
  if (isBurned) {
    return `earned ${alpha(paidRao)} alpha in the last epoch: the chain burned ${alpha(missingRao)}, ` +
      "because its coldkey owns the subnet; register a hotkey of another coldkey";
  }
  return `earned ${alpha(paidRao)} alpha in the last epoch: ${alpha(missingRao)} of the ${all} allotted to it went ` +
    "elsewhere, as when its coldkey stakes incentive to another hotkey";
}

const alpha = (rao: bigint): string => (Number(rao / 1_000_000n) / 1_000).toFixed(3);
