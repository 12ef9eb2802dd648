/**
 * Pulses of drand's quicknet that somebody has brought to this chain, so that it can open weights sealed to quicknet.
 *
 * Believes no pulse without checking its signature. Kept in memory only: what still waits after a restart is brought again.
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
