/**
 * What happened in a block beside the outcomes of its calls: plain values, kept with the block.
 *
 * The runtime drops an unreadable timelocked commit without a word; here it leaves a `weightsDropped`, so that a person can see why.
 */

import type { Address } from "../call.ts";

export type ChainEvent =
  | { readonly type: "neuronRegistered"; readonly netuid: number; readonly uid: number; readonly hotkey: Address }
  | { readonly type: "neuronPruned"; readonly netuid: number; readonly uid: number; readonly hotkey: Address }
  | { readonly type: "commitmentSet"; readonly netuid: number; readonly hotkey: Address }
  | { readonly type: "networkAdded"; readonly netuid: number }
  | { readonly type: "weightsSet"; readonly netuid: number; readonly mechanism: number; readonly uid: number }
  | { readonly type: "weightsRevealed"; readonly netuid: number; readonly mechanism: number; readonly hotkey: Address }
  | {
    readonly type: "weightsDropped"; // a timelocked commit that came due and could not become weights
    readonly netuid: number;
    readonly mechanism: number;
    readonly hotkey: Address;
    readonly why: string;
  }
  | {
    readonly type: "epochRan";
    readonly netuid: number;
    readonly index: number;
    readonly ownerRao: bigint;
    readonly minersRao: bigint;
    readonly validatorsRao: bigint;
    readonly burnedRao: bigint; // incentive of the owner's own hotkeys
    readonly remainderRao: bigint;
  };
