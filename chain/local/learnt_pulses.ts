/**
 * Pulses of drand's quicknet submitted to this chain, so that it can open weights sealed to quicknet.
 *
 * Accepts a pulse only after checking its signature. Kept in memory only: after a restart, pulses that are still needed
 * are submitted again.
 */

import { quicknet } from "../timelock/beacon.ts";
import { isPulse } from "../timelock/pulse.ts";

const pulsesMax = 1_000; // few: only rounds that commits name

export class LearntPulses {
  readonly #pulses = new Map<bigint, Uint8Array>(); // by round

  learn(pulse: { readonly round: bigint; readonly signature: Uint8Array }): boolean {
    if (!isPulse(quicknet, pulse)) return false;
    if (this.#pulses.size >= pulsesMax) this.#pulses.clear();
    this.#pulses.set(pulse.round, pulse.signature);
    return true;
  }

  /** One pulse, or none. */
  of(round: bigint): readonly Uint8Array[] {
    const pulse = this.#pulses.get(round);
    return pulse === undefined ? [] : [pulse];
  }
}
