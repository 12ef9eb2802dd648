/**
 * The constants of a chain: its genesis, and the drand beacon whose pulses it uses.
 *
 * A development chain has its own beacon, so weights are sealed to the key that the chain itself names; a runtime that
 * names none uses quicknet. On the public chains only quicknet is accepted, because an attacker who could name another
 * key could read weights early.
 */

import * as v from "valibot";
import { ChainError, type ChainFacts } from "../../chain.ts";
import { type Beacon, quicknet } from "../../timelock/beacon.ts";
import { bytes, integer } from "../connection/plain_values.ts";
import type { StateAt } from "../connection/state.ts";

const beaconSchema = v.object({
  publicKey: v.pipe(bytes, v.length(96, "a beacon's public key has 96 bytes")),
  period: v.pipe(integer, v.minValue(1)), // s
  genesisTime: integer, // s
});

export async function readFacts(
  state: StateAt,
  { genesisHash, isPublic }: { genesisHash: string; isPublic: boolean },
): Promise<ChainFacts> {
  const { found } = await state.read({
    found: { pallet: "Drand", name: "BeaconConfig", keys: [], schema: beaconSchema, isRawWithoutMetadata: false },
  });
  const beacon: Beacon = found === undefined
    ? quicknet
    : { publicKey: found.publicKey, genesisMs: found.genesisTime * 1_000, periodMs: found.period * 1_000 };
  if (!isPublic || isQuicknet(beacon)) return { genesisHash, beacon };
  throw new ChainError(
    "badAnswer",
    "Cannot use this endpoint as the public chains reveal by quicknet: it names another beacon",
  );
}

function isQuicknet({ publicKey, genesisMs, periodMs }: Beacon): boolean {
  const isKey = publicKey.every((byte, i) => byte === quicknet.publicKey[i]);
  return isKey && genesisMs === quicknet.genesisMs && periodMs === quicknet.periodMs;
}
