/** The parts of signed HTTP requests: hex in headers, the hash of a body, the age limit of a request. */

import { createHash } from "node:crypto";
import { type Fault, fault } from "../../core/fault.ts";
import { clockText } from "./clocks.ts";
import type { Signer } from "./hello.ts";

/** Names are case-insensitive. */
export interface HeaderSource {
  get(name: string): string | null;
}

export interface TimeWindow {
  readonly pastMs: number;
  readonly futureMs: number;
}

const nsPerMs = 1_000_000n;
const signatureText = /^(?:0x)?([0-9a-f]{128})$/i;

export const sha256Hex = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex");
export const emptyBodyHash = sha256Hex(new Uint8Array(0));

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const signedHex = (signer: Signer, text: string): string => `0x${signer.sign(bytesOf(text)).toHex()}`;

/** Null: not 64 bytes. */
export function signatureOf(text: string | null): Uint8Array | null {
  const digits = signatureText.exec(text ?? "")?.[1];
  return digits === undefined ? null : Uint8Array.fromHex(digits);
}

/** As bigint, because a double would round. */
export const nanosecondsOf = (timeMs: number): bigint => BigInt(Math.floor(timeMs)) * nsPerMs;

/** Null: its time is within the window. */
export function untimely(timeNs: bigint, at: { nowMs: number; window: TimeWindow }): Fault | null {
  const { nowMs, window } = at;
  const ageNs = nanosecondsOf(nowMs) - timeNs;
  const isPast = ageNs > 0n;
  const limitMs = isPast ? window.pastMs : window.futureMs;
  const offNs = isPast ? ageNs : -ageNs;
  if (offNs <= nanosecondsOf(limitMs)) return null;
  const offMs = (offNs + nsPerMs - 1n) / nsPerMs;
  return unproven(
    `its time must be at most ${limitMs} ms in the ${isPast ? "past" : "future"}: current value is ${offMs} ` +
      `(signed at ${clockText(Number(timeNs / nsPerMs))}, and this clock says ${clockText(nowMs)}); ` +
      "set the clock that is wrong, and sign every attempt separately",
  );
}

export const unproven = (reason: string): Fault => fault("unauthenticated", `Cannot accept a request: ${reason}`);
