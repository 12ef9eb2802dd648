/**
 * Whose announcements are trusted in a subnet, best first.
 *
 * Any registered hotkey may publish on the chain, and registering is cheap. Trusted are the subnet's owner (its hotkey,
 * and the other hotkeys of the owner's coldkey, which only that coldkey can register), then validators with a permit,
 * which the chain gives to the hotkeys with the most stake. Pure. Out of scope: reading the chain (announcements.ts).
 */

import type { Address } from "../../chain/call.ts";
import type { Neuron } from "../../chain/chain.ts";

export interface Voucher {
  readonly hotkey: Address;
  readonly by: "owner" | "stake";
  readonly stakeRao: bigint;
}

/** A subnet has at most 64 validators; an owner may register many hotkeys. */
export const vouchersMax = 80;

export function vouchersOf(
  { neurons, ownerHotkey }: { neurons: readonly Neuron[]; ownerHotkey: Address | null },
): Voucher[] {
  const owner = neurons.find(({ hotkey }) => hotkey === ownerHotkey);
  const isOwners = ({ coldkey }: Neuron) => coldkey === owner?.coldkey;
  const rank = (neuron: Neuron) => neuron === owner ? 0 : isOwners(neuron) ? 1 : 2;
  return neurons
    .filter((neuron) => isOwners(neuron) || (neuron.hasPermit && neuron.stakeRao > 0n))
    .sort((a, b) => rank(a) - rank(b) || (a.stakeRao < b.stakeRao ? 1 : a.stakeRao > b.stakeRao ? -1 : a.uid - b.uid))
    .slice(0, vouchersMax)
    .map((neuron) => ({
      hotkey: neuron.hotkey,
      by: isOwners(neuron) ? "owner" : "stake",
      stakeRao: neuron.stakeRao,
    }));
}
