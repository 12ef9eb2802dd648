/**
 * The chain's own drand-like beacon: rounds follow the time, and pulses are derived from a seed on demand.
 *
 * Which rounds are published depends only on a block's timestamp, so nothing is stored and a chain that slept for a
 * week has no backlog. Its numbering is quicknet's; only the key differs. Anyone who knows the genesis can compute
 * future pulses, so hiding is only as strong as the machine is private.
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
  #keys: ReturnType<typeof ownBeacon> | null = null; // created on demand: the first point costs 200 ms

  constructor({ beacon: { seed, genesisMs, periodMs } }: Genesis) {
    this.#times = { genesisMs, periodMs };
    this.#seed = seed;
  }

  get beacon(): Beacon {
    return this.#own().beacon;
  }

  /** The newest published round. Round 1 is due at the beacon's genesis. */
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
