/**
 * A weight duty on the model chain in one plain situation, led block by block: what its single tests begin with.
 *
 * Owns: the subnet, the scores, the heads and looks. Out of scope: performing what the duty sends.
 */

import type { SubnetParameters } from "../../../chain/chain.ts";
import { type DutyEffect, type DutyState, openDuty } from "../../../chain/duty/duty.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { leadBlocks } from "../../../chain/duty/window.ts";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { modelBeacon, ModelChain, modelNetuid } from "./model_chain.ts";

export const hotkeys = [1, 2, 3, 4].map((seed) => encodeAddress(new Uint8Array(32).fill(seed)));
export const validator = hotkeys[0]!;
export const lead = leadBlocks(100, validator);

/** A subnet of tempo 100. A stateful one has had its last epoch at block 1,000: windows end at 1,100, 1,200, ... */
export function situation(changes: Partial<SubnetParameters> = {}, formula: "stateful" | "legacy" = "stateful") {
  const chain = new ModelChain({ formula, tempoBlocks: 100, hotkeys });
  chain.change(changes);
  const state = openDuty({
    ...{ netuid: modelNetuid, mechanism: 0, hotkey: validator, versionKey: "3", beacon: modelBeacon },
    ...{ saltSeed: "07".repeat(32), settleBlocks: 6 },
  });
  const byHotkey = { [hotkeys[1]!]: 3, [hotkeys[2]!]: 1 };
  weightDuty.step(state, { type: "scored", scores: { round: 5, block: 1_000, byHotkey } }, 0);
  return { chain, state };
}

/** Advances to a block, with one head and one look there. */
export function lookAt(block: number, world: { chain: ModelChain; state: DutyState }): DutyEffect[] {
  world.state.lookAtBlock = 0;
  return headAt(block, world);
}

/** Advances to a block, with one head there, and a look if the duty asks for one. */
export function headAt(block: number, { chain, state }: { chain: ModelChain; state: DutyState }): DutyEffect[] {
  while (chain.block < block) chain.advance();
  const head = { block, seenMs: chain.timeMs };
  let effects = weightDuty.step(state, { type: "headSeen", head }, chain.timeMs);
  for (let read = readOf(effects); read !== null; read = readOf(effects)) {
    effects = weightDuty.step(state, { type: "viewRead", view: chain.view(validator, read.blocks) }, chain.timeMs);
  }
  return effects;
}

function readOf(effects: readonly DutyEffect[]): Extract<DutyEffect, { type: "read" }> | null {
  for (const effect of effects) if (effect.type === "read") return effect;
  return null;
}

export const sendsOf = (effects: readonly DutyEffect[]) =>
  effects.filter(({ type }) => type === "send" || type === "sealAndSend");
export const landedIn = (block: number) => ({ status: "included", block, extrinsicHash: "0x" }) as const;
