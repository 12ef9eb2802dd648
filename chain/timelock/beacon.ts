/**
 * The drand beacon behind timelocked weights. A pulse is a BLS signature over the round number, unknown before the
 * round is due. The curve arithmetic is elsewhere, because it is heavy to import.
 */

import { assert } from "../../core/assert.ts";

export interface BeaconClock {
  readonly genesisMs: number; // of round 1
  readonly periodMs: number;
}

export interface Beacon extends BeaconClock {
  readonly publicKey: Uint8Array; // G2, compressed
}

const bytesOfHex = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Subtensor's, chain hash 52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971. */
export const quicknet: Beacon = {
  publicKey: bytesOfHex(
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
      "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
  ),
  genesisMs: 1_692_803_367_000,
  periodMs: 3_000,
};

/** Whole periods since genesis, as in the SDK: one less than drand's newest round, so its pulse exists. */
export function roundAt(beacon: BeaconClock, unixMs: number): bigint {
  assert(
    Number.isFinite(unixMs) && unixMs >= beacon.genesisMs,
    `Cannot name a round as the time must not lie before the beacon's genesis ${beacon.genesisMs}: current value is ${unixMs}`,
  );
  return BigInt(Math.max(1, Math.floor((unixMs - beacon.genesisMs) / beacon.periodMs)));
}

export function timeOfRoundMs(beacon: BeaconClock, round: bigint): number {
  assert(round >= 1n, `Cannot date a round as it must be at least 1: current value is ${round}`);
  return beacon.genesisMs + Number(round - 1n) * beacon.periodMs;
}
