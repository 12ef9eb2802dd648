/**
 * System.Events of a block: what became of each of its extrinsics, as clients decode it.
 *
 * The first extrinsic is the clock's; the others are those of `outcomes` that came through this node.
 */

import type { CallOutcome } from "../ledger.ts";
import type { Runtime } from "../surface/runtime.ts";

export interface AppliedExtrinsic {
  readonly error: CallOutcome["error"];
  readonly isFree: boolean;
}

export interface BlockEvents {
  readonly bytes: Uint8Array; // Vec<EventRecord>
  readonly count: number;
}

export function blockEvents({ surface, scale }: Runtime, extrinsics: readonly AppliedExtrinsic[]): BlockEvents {
  const clock = record(0, success({ class: "Mandatory", paysFee: "Yes" }));
  const records = extrinsics.map(({ error, isFree }, i) => {
    const info = { class: "Normal", paysFee: isFree ? "No" : "Yes" };
    return record(i + 1, error === null ? success(info) : failure(dispatchError(surface.pallets, error), info));
  });
  return { bytes: scale.encode("Vec<EventRecord>", [clock, ...records]), count: records.length + 1 };
}

function record(extrinsic: number, event: unknown): unknown {
  return { phase: { type: "ApplyExtrinsic", value: extrinsic }, event: { type: "System", value: event }, topics: [] };
}

const success = (info: unknown): unknown => ({ type: "ExtrinsicSuccess", value: info });
const failure = (error: unknown, info: unknown): unknown => ({ type: "ExtrinsicFailed", value: [error, info] });

/** An error that no pallet of the surface declares is shown as `Other`, which is all a client could make of it. */
function dispatchError(pallets: Runtime["surface"]["pallets"], error: { pallet: string; name: string }): unknown {
  if (error.pallet === "Token") return { type: "Token", value: { type: error.name } };
  const pallet = pallets.find(({ name }) => name === error.pallet);
  const index = pallet?.errors.indexOf(error.name) ?? -1;
  if (pallet === undefined || index < 0) return { type: "Other" };
  return { type: "Module", value: { index: pallet.index, error: Uint8Array.of(index, 0, 0, 0) } };
}
