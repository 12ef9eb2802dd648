/**
 * The chain's own time, and the drand beacon whose pulses it takes.
 *
 * Owns: those two reads. Refuses: arithmetic with rounds (chain/timelock). A chain for development has a beacon of its own, so weights
 * are sealed to the key the chain itself names; a runtime that names none reads quicknet.
 */

import * as v from "valibot";
import { type Beacon, quicknet } from "../timelock/beacon.ts";
import { bytes, integer } from "./plain_values.ts";
import { needed, type StateAt } from "./state.ts";

const beaconSchema = v.object({
  publicKey: v.pipe(bytes, v.check((key) => key.length === 96, "a beacon's public key has 96 bytes")),
  period: v.pipe(integer, v.minValue(1)), // s
  genesisTime: integer, // s
});

export async function readBeacon(state: StateAt): Promise<Beacon> {
  const { found } = await state.read({
    found: { pallet: "Drand", name: "BeaconConfig", keys: [], schema: beaconSchema, isRawWithoutMetadata: false },
  });
  if (found === undefined) return quicknet;
  return { publicKey: found.publicKey, genesisMs: found.genesisTime * 1_000, periodMs: found.period * 1_000 };
}

/** When the block was made, by its author's clock. */
export async function readBlockTime(state: StateAt): Promise<{ block: number; timeMs: number }> {
  const { now } = await state.read({
    now: { pallet: "Timestamp", name: "Now", keys: [], schema: integer, isRawWithoutMetadata: false },
  });
  return { block: state.block.number, timeMs: needed(now, "Timestamp.Now") };
}
