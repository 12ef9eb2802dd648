/**
 * System.Events of a block: what became of each of its extrinsics, as clients decode it.
 *
 * The first extrinsic is the clock's; the others are those of `outcomes` that came through this node.
 */

import type { ChainCall } from "../../call.ts";
import type { AccountId, CallOutcome } from "../ledger.ts";
import type { Runtime } from "../surface/runtime.ts";

export interface AppliedExtrinsic {
  readonly error: CallOutcome["error"];
  readonly isFree: boolean;
  /** What the call itself tells when it works, before its outcome. */
  readonly told: readonly ToldEvent[];
}

export interface ToldEvent {
  readonly pallet: string;
  readonly event: { readonly type: string; readonly value: unknown };
}

export interface BlockEvents {
  readonly bytes: Uint8Array; // Vec<EventRecord>
  readonly count: number;
}

export function blockEvents({ surface, scale }: Runtime, extrinsics: readonly AppliedExtrinsic[]): BlockEvents {
  const clock = record(0, success({ class: "Mandatory", paysFee: "Yes" }));
  const records = extrinsics.flatMap(({ error, isFree, told }, i) => {
    const info = { class: "Normal", paysFee: isFree ? "No" : "Yes" };
    if (error !== null) return [record(i + 1, failure(dispatchError(surface.pallets, error), info))];
    return [...told, success(info)].map((event) => record(i + 1, event));
  });
  return { bytes: scale.encode("Vec<EventRecord>", [clock, ...records]), count: records.length + 1 };
}

function record(extrinsic: number, { pallet, event }: ToldEvent): unknown {
  return { phase: { type: "ApplyExtrinsic", value: extrinsic }, event: { type: pallet, value: event }, topics: [] };
}

/** What calls tell that clients look for. */
export function toldBy(call: ChainCall, from: AccountId): ToldEvent[] {
  if (call.type !== "setCommitment") return [];
  return [{ pallet: "Commitments", event: { type: "Commitment", value: [call.netuid, from] } }];
}

const system = (type: string, value: unknown): ToldEvent => ({ pallet: "System", event: { type, value } });
const success = (info: unknown): ToldEvent => system("ExtrinsicSuccess", info);
const failure = (error: unknown, info: unknown): ToldEvent => system("ExtrinsicFailed", [error, info]);

/** An error that no pallet of the surface declares is shown as `Other`, which is all a client could make of it. */
function dispatchError(pallets: Runtime["surface"]["pallets"], error: { pallet: string; name: string }): unknown {
  if (error.pallet === "Token") return { type: "Token", value: { type: error.name } };
  const pallet = pallets.find(({ name }) => name === error.pallet);
  const index = pallet?.errors.indexOf(error.name) ?? -1;
  if (pallet === undefined || index < 0) return { type: "Other" };
  return { type: "Module", value: { index: pallet.index, error: Uint8Array.of(index, 0, 0, 0) } };
}
