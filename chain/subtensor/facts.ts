/**
 * What never changes about a chain: its genesis, and the drand beacon whose rounds it reveals by.
 *
 * Owns: the beacon as the runtime stores it; a runtime that stores none reads quicknet's.
 */

import * as v from "valibot";
import type { ChainFacts } from "../chain.ts";
import { quicknet } from "../timelock/beacon.ts";
import { bytes, integer } from "./plain_values.ts";
import type { StateAt } from "./state.ts";

const publicKeyBytes = 96; // a compressed point of G2

const beaconSchema = v.object({
  publicKey: v.pipe(bytes, v.length(publicKeyBytes)),
  period: v.pipe(integer, v.minValue(1)), // s
  genesisTime: integer, // s
});

export async function readFacts(state: StateAt, genesisHash: string): Promise<ChainFacts> {
  const { beacon } = await state.read({
    beacon: { pallet: "Drand", name: "BeaconConfig", keys: [], schema: beaconSchema, isRawWithoutMetadata: false },
  });
  if (beacon === undefined) return { genesisHash, beacon: quicknet };
  const { publicKey, period, genesisTime } = beacon;
  return { genesisHash, beacon: { publicKey, periodMs: period * 1000, genesisMs: genesisTime * 1000 } };
}
