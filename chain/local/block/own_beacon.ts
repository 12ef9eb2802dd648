/**
 * The chain's own drand-like beacon, with quicknet's numbering and its own key. Everything follows from time and a
 * seed, so nothing is stored, but anyone who knows the genesis can compute future pulses.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { type Beacon, type BeaconClock, roundAt } from "../../timelock/beacon.ts";
import { makePulse, ownBeacon } from "../../timelock/pulse.ts";
import type { Genesis } from "./genesis.ts";

const seedBytes = 48; // required by the curve

export class OwnBeacon {
  readonly #times: BeaconClock;
  readonly #seed: string;
  readonly #pulses = new Map<bigint, Uint8Array>(); // few: only rounds that commits name
  #keys: ReturnType<typeof ownBeacon> | null = null; // lazy: the first point costs 200 ms

  constructor({ beacon: { seed, genesisMs, periodMs } }: Genesis) {
    this.#times = { genesisMs, periodMs };
    this.#seed = seed;
  }

  get beacon(): Beacon {
    return this.#own().beacon;
  }

  /** Round 1 is due at genesis. */
  lastRound(nowMs: number): bigint {
    return roundAt(this.#times, nowMs + this.#times.periodMs);
  }

  pulse(round: bigint): Uint8Array {
    const known = this.#pulses.get(round);
    if (known !== undefined) return known;
    const pulse = makePulse({ secretKey: this.#own().secretKey, round });
    if (this.#pulses.size >= 1_000) this.#pulses.clear();
    this.#pulses.set(round, pulse);
    return pulse;
  }

  #own(): ReturnType<typeof ownBeacon> {
    const seed = blake2b(new TextEncoder().encode(this.#seed), { dkLen: seedBytes });
    return this.#keys ??= ownBeacon({ seed, ...this.#times });
  }
}
