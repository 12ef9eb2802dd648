/**
 * The drand beacon whose pulses open timelocked weights: its constants, and rounds as points in time.
 *
 * Owns round arithmetic, which is light; the curve arithmetic is in pulse.ts and timelock.ts, which are heavy to
 * import. A round's pulse is a BLS signature over the round number, which is not known before the round is due.
 */

import { assert } from "../../core/assert.ts";

export interface BeaconClock {
  readonly genesisMs: number; // when round 1 was due
  readonly periodMs: number;
}

export interface Beacon extends BeaconClock {
  readonly publicKey: Uint8Array; // G2, 96 bytes compressed
}

const bytesOfHex = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * drand's quicknet, chain hash 52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971: the one that Subtensor
 * uses.
 */
export const quicknet: Beacon = {
  publicKey: bytesOfHex(
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
      "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
  ),
  genesisMs: 1_692_803_367_000,
  periodMs: 3_000,
};

/**
 * The round at a given time as the SDK counts it: whole periods since genesis. That is one less than the round drand
 * publishes at that moment (its round 1 is due at genesis), so a pulse of this round exists by then.
 */
export function roundAt(beacon: BeaconClock, unixMs: number): bigint {
  assert(
    Number.isFinite(unixMs) && unixMs >= beacon.genesisMs,
    `Cannot name a round as the time must not lie before the beacon's genesis ${beacon.genesisMs}: current value is ${unixMs}`,
  );
  return BigInt(Math.max(1, Math.floor((unixMs - beacon.genesisMs) / beacon.periodMs)));
}

/** When the beacon publishes a round. */
export function timeOfRoundMs(beacon: BeaconClock, round: bigint): number {
  assert(round >= 1n, `Cannot date a round as it must be at least 1: current value is ${round}`);
  return beacon.genesisMs + Number(round - 1n) * beacon.periodMs;
}
