/** The metagraph without names, identities and commitments, which are most of it. */

import * as v from "valibot";
import { ChainError, type ChainFacts, type Metagraph, type Neuron } from "../../chain.ts";
import { axonFrom, axonSchema } from "./axon_address.ts";
import { address, bigInteger, bytes, integer } from "../connection/plain_values.ts";
import type { StateAt } from "../connection/state.ts";
import { type Beacon, quicknet } from "../../timelock/beacon.ts";

const api = "SubnetInfoRuntimeApi";

/** The runtime's numbers of these columns. */
const columnIndexes = [7, 52, 53, 55, 56, 57, 59, 60, 61, 62, 66, 69];

const metagraphSchema = v.object({
  block: integer,
  hotkeys: v.array(address),
  coldkeys: v.array(address),
  axons: v.array(axonSchema),
  active: v.array(v.boolean()),
  validatorPermit: v.array(v.boolean()),
  lastUpdate: v.array(integer),
  emission: v.array(bigInteger),
  dividends: v.array(integer),
  incentives: v.array(integer),
  blockAtRegistration: v.array(integer),
  totalStake: v.array(bigInteger),
});

type Columns = v.InferOutput<typeof metagraphSchema>;

export async function readMetagraph(state: StateAt, netuid: number): Promise<Metagraph> {
  const answer = state.hasApi(api, "get_selective_metagraph")
    ? await state.call(api, "get_selective_metagraph", [netuid, columnIndexes])
    : await state.call(api, "get_metagraph", [netuid]);
  if (answer === null) throw new ChainError("badAnswer", `Cannot read the metagraph as there is no subnet ${netuid}`);
  const columns = v.parse(metagraphSchema, answer);
  return { netuid, block: columns.block, neurons: columns.hotkeys.map((_, uid) => neuronAt(columns, uid)) };
}

function neuronAt(columns: Columns, uid: number): Neuron {
  const at = <T>(column: readonly T[], name: keyof Columns): T => {
    const value = column[uid];
    if (value !== undefined) return value;
    throw new ChainError("badAnswer", `Cannot read the metagraph as its column '${name}' ends before uid ${uid}`);
  };
  return {
    uid,
    hotkey: at(columns.hotkeys, "hotkeys"),
    coldkey: at(columns.coldkeys, "coldkeys"),
    isActive: at(columns.active, "active"),
    hasPermit: at(columns.validatorPermit, "validatorPermit"),
    registeredAtBlock: at(columns.blockAtRegistration, "blockAtRegistration"),
    lastUpdateBlock: at(columns.lastUpdate, "lastUpdate"),
    stakeRao: at(columns.totalStake, "totalStake"),
    incentive: at(columns.incentives, "incentives"),
    dividends: at(columns.dividends, "dividends"),
    emissionRao: at(columns.emission, "emission"),
    axon: axonFrom(at(columns.axons, "axons")),
  };
}

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
