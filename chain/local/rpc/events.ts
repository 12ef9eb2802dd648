/**
 * System.Events of a block: the chain's own events, then those of each extrinsic and its outcome, as clients decode them.
 *
 * The first extrinsic is the clock's; the others are those of `outcomes` that came through this node. As in a runtime,
 * an extrinsic's own events are between those of its fee, and its success or failure comes last.
 */

import type { ChainEvent } from "../block/events.ts";
import type { CallOutcome } from "../block/ledger.ts";
import type { Runtime } from "../surface/runtime.ts";
import { runtimeEvents } from "./runtime_events.ts";

export interface AppliedExtrinsic extends Pick<CallOutcome, "error" | "events"> {
  readonly isFree: boolean;
}

export interface BlockEvents {
  readonly bytes: Uint8Array; // Vec<EventRecord>
  readonly count: number;
}

interface Happened {
  readonly byItself: readonly ChainEvent[];
  readonly extrinsics: readonly AppliedExtrinsic[];
}

export function blockEvents({ surface, scale }: Runtime, { byItself, extrinsics }: Happened): BlockEvents {
  const early = byItself.flatMap(runtimeEvents).map((event) => record({ type: "Initialization" }, event));
  const clock = record(applying(0), success({ class: "Mandatory", paysFee: "Yes" }));
  const records = extrinsics.flatMap(({ error, isFree, events }, i) => {
    const info = { class: "Normal", paysFee: isFree ? "No" : "Yes" };
    const end = error === null ? success(info) : failure(dispatchError(surface.pallets, error), info);
    return [...events.flatMap(runtimeEvents), end].map((event) => record(applying(i + 1), event));
  });
  const all = [...early, clock, ...records];
  return { bytes: scale.encode("Vec<EventRecord>", all), count: all.length };
}

const applying = (extrinsic: number): unknown => ({ type: "ApplyExtrinsic", value: extrinsic });
const record = (phase: unknown, event: unknown): unknown => ({ phase, event, topics: [] });
const success = (info: unknown): unknown => ({ type: "System", value: { type: "ExtrinsicSuccess", value: info } });
const failure = (error: unknown, info: unknown): unknown => ({
  type: "System",
  value: { type: "ExtrinsicFailed", value: [error, info] },
});

/** An error that no pallet of the surface declares is shown as `Other`, because clients could not decode more. */
function dispatchError(pallets: Runtime["surface"]["pallets"], error: { pallet: string; name: string }): unknown {
  if (error.pallet === "Token") return { type: "Token", value: { type: error.name } };
  const pallet = pallets.find(({ name }) => name === error.pallet);
  const index = pallet?.errors.indexOf(error.name) ?? -1;
  if (pallet === undefined || index < 0) return { type: "Other" };
  return { type: "Module", value: { index: pallet.index, error: Uint8Array.of(index, 0, 0, 0) } };
}
