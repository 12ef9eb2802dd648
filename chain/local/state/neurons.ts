/**
 * Which hotkey holds which uid. Uids are dense from 0; `uid` and `neuron` are inverse; the owner's hotkey is never
 * replaced.
 */

import { encodeAddress } from "../../wallet/ss58.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import type { Hyperparameters } from "../block/genesis.ts";
import { type AccountKey, keyOf, type NeuronRecord, type RowRecord } from "./records.ts";
import type { BlockScope, StateReader } from "./state.ts";

export const uidOf = (state: StateReader, netuid: number, hotkey: AccountKey): number | null =>
  state.read("uid", keyOf(netuid, hotkey)) ?? null;

export function neuronsOf(state: StateReader, netuid: number): NeuronRecord[] {
  const { neuronCount } = state.get("subnet", keyOf(netuid));
  return Array.from({ length: neuronCount }, (_, uid) => state.get("neuron", keyOf(netuid, uid)));
}

/** Replaces the uid's neuron, if any. */
export function seatNeuron(
  scope: BlockScope,
  of: { readonly netuid: number; readonly hotkey: AccountKey; readonly uid: number },
): void {
  const { state, block } = scope;
  const { netuid, hotkey, uid } = of;
  const subnet = state.get("subnet", keyOf(netuid));
  const { mechanisms } = subnet.hyperparameters;
  if (uid < subnet.neuronCount) clearSeat(scope, { netuid, uid, mechanisms });
  else state.change("subnet", keyOf(netuid), { neuronCount: uid + 1 });
  state.write("uid", keyOf(netuid, hotkey), uid);
  state.write("neuron", keyOf(netuid, uid), {
    ...{ hotkey, registeredAtBlock: block, isActive: true, hasPermit: false },
    ...{ consensus: 0, dividends: 0, validatorTrust: 0, emissionRao: 0n, axon: null },
  });
  for (let mechanism = 0; mechanism < mechanisms; mechanism++) {
    state.write("seat", keyOf(storageIndex({ netuid, mechanism }), uid), { lastUpdateBlock: block, incentive: 0 });
  }
}

function clearSeat(
  scope: BlockScope,
  of: { readonly netuid: number; readonly uid: number; readonly mechanisms: number },
): void {
  const { state } = scope;
  const { netuid, uid, mechanisms } = of;
  const { hotkey } = state.get("neuron", keyOf(netuid, uid));
  state.remove("uid", keyOf(netuid, hotkey));
  const { neuronCount } = state.get("subnet", keyOf(netuid));
  for (let mechanism = 0; mechanism < mechanisms; mechanism++) {
    const index = storageIndex({ netuid, mechanism });
    for (const table of ["weights", "bonds"] as const) {
      if (state.read(table, keyOf(index, uid)) !== undefined) state.remove(table, keyOf(index, uid));
    }
    for (let voter = 0; voter < neuronCount; voter++) {
      const row: RowRecord | undefined = state.read("weights", keyOf(index, voter));
      if (row === undefined || !row.some(([target, value]) => target === uid && value > 0)) continue;
      state.write("weights", keyOf(index, voter), row.map(([target, value]) => [target, target === uid ? 0 : value]));
    }
  }
  scope.emit({ type: "neuronPruned", netuid, uid, hotkey: encodeAddress(Uint8Array.fromHex(hotkey)) });
}

/**
 * The next free uid, otherwise that of the lowest earner without immunity, or with it if too few others would be left.
 * Ties: older registration, lower uid. Null: all are protected.
 */
export function seatFor({ state, block }: BlockScope, netuid: number): number | null {
  const { neuronCount, ownerHotkey, hyperparameters } = state.get("subnet", keyOf(netuid));
  if (neuronCount < hyperparameters.maxUids) return neuronCount;
  const candidates = neuronsOf(state, netuid).map((neuron, uid) => ({ ...neuron, uid }))
    .filter(({ hotkey }) => hotkey !== ownerHotkey)
    .sort((a, b) =>
      Number(a.emissionRao - b.emissionRao) || a.registeredAtBlock - b.registeredAtBlock || a.uid - b.uid
    );
  const isImmune = (neuron: NeuronRecord) => block - neuron.registeredAtBlock < hyperparameters.immunityPeriodBlocks;
  const free = candidates.filter((neuron) => !isImmune(neuron));
  const lowest = free.length > hyperparameters.minNonImmuneUids ? free[0] : candidates.find(isImmune);
  return lowest?.uid ?? null;
}

/** A new mechanism gets empty seats; a removed one is deleted. */
export function changeRules({ state }: BlockScope, netuid: number, change: Partial<Hyperparameters>): void {
  const { hyperparameters, neuronCount } = state.get("subnet", keyOf(netuid));
  const changed = { ...hyperparameters, ...change };
  for (let mechanism = changed.mechanisms; mechanism < hyperparameters.mechanisms; mechanism++) {
    const index = storageIndex({ netuid, mechanism });
    for (const table of ["seat", "weights", "bonds", "salted", "timelocked"] as const) {
      for (const key of state.keys(table, keyOf(index, ""))) state.remove(table, key);
    }
  }
  state.change("subnet", keyOf(netuid), { hyperparameters: changed });
  for (let mechanism = hyperparameters.mechanisms; mechanism < changed.mechanisms; mechanism++) {
    const index = storageIndex({ netuid, mechanism });
    for (let uid = 0; uid < neuronCount; uid++) {
      state.write("seat", keyOf(index, uid), { lastUpdateBlock: 0, incentive: 0 });
    }
  }
}
