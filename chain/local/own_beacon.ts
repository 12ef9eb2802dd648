/**
 * The chain's own drand-like beacon: rounds as time passes, pulses made from a seed when somebody asks for one.
 *
 * Which rounds are out depends on a block's timestamp alone, so nothing is stored and a chain that slept for a week has no backlog.
 * Its numbering is quicknet's; only the key is another. Everybody who knows the genesis can make future pulses: hiding is as strong
 * as the machine is private.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { type Beacon, roundAt } from "../timelock/beacon.ts";
import { makePulse, ownBeacon } from "../timelock/pulse.ts";
import type { Genesis } from "./genesis.ts";

const seedBytes = 48; // what the curve takes

export class OwnBeacon {
  readonly beacon: Beacon;
  readonly #secretKey: Uint8Array;
  readonly #pulses = new Map<bigint, Uint8Array>(); // few: only rounds that commits name

  constructor({ beacon: { seed, genesisMs, periodMs } }: Genesis) {
    const own = ownBeacon({ seed: blake2b(new TextEncoder().encode(seed), { dkLen: seedBytes }), genesisMs, periodMs });
    this.beacon = own.beacon;
    this.#secretKey = own.secretKey;
  }

  /** The newest round that is out. Round 1 is due at the beacon's genesis. */
  lastRound(nowMs: number): bigint {
    return roundAt(this.beacon, nowMs + this.beacon.periodMs);
  }

  pulse(round: bigint): Uint8Array {
    const known = this.#pulses.get(round);
    if (known !== undefined) return known;
    const pulse = makePulse({ secretKey: this.#secretKey, round });
    if (this.#pulses.size >= 1_000) this.#pulses.clear();
    this.#pulses.set(round, pulse);
    return pulse;
  }
}
