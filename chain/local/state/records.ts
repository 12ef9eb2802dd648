/**
 * The embedded chain's records, replaced and never mutated. Accounts are public keys in hex. Simpler than the runtime:
 * alpha is worth one tao, stake is one amount per hotkey and subnet and belongs to the coldkey; no pool, nominators,
 * child keys, takes, root subnet or collateral.
 */

import type { Address, CommitmentKind } from "../../call.ts";
import type { Hyperparameters } from "../block/genesis.ts";
import { assert, present } from "../../../core/assert.ts";
import { decodeAddress, encodeAddress } from "../../wallet/ss58.ts";

/** 64 lower-case hex digits. */
export type AccountKey = string;

interface AccountRecord {
  readonly freeRao: bigint;
  readonly nonce: number;
}

interface HotkeyRecord {
  readonly coldkey: AccountKey;
}

export interface SubnetRecord {
  readonly ownerColdkey: AccountKey;
  readonly ownerHotkey: AccountKey;
  readonly registeredAtBlock: number;
  readonly lockedRao: bigint;
  readonly neuronCount: number;
  readonly hyperparameters: Hyperparameters;
}

export interface ClockRecord {
  readonly lastEpochBlock: number;
  readonly pendingEpochAtBlock: number; // 0: none
  readonly epochIndex: number;
  readonly blocksSinceLastStep: number;
  readonly lastStepBlock: number; // LastMechansimStepBlock
  readonly burnRao: bigint;
}

interface PotsRecord {
  readonly ownerRao: bigint;
  readonly minersRao: bigint;
  readonly validatorsRao: bigint;
}

export interface AxonRecord {
  readonly block: number;
  readonly version: number;
  readonly ip: string; // canonical
  readonly port: number;
  readonly protocol: number;
}

export interface NeuronRecord {
  readonly hotkey: AccountKey;
  readonly registeredAtBlock: number;
  readonly isActive: boolean;
  readonly hasPermit: boolean;
  readonly consensus: number; // u16, as are the next two
  readonly dividends: number;
  readonly validatorTrust: number;
  readonly emissionRao: bigint;
  readonly axon: AxonRecord | null;
}

export interface SeatRecord {
  readonly lastUpdateBlock: number; // weights set or committed, or registered
  readonly incentive: number; // u16
}

export type RowRecord = readonly (readonly [uid: number, value: number])[];

export interface SaltedCommit {
  readonly hash: string; // hex
  readonly epoch: number;
  readonly block: number;
}

export interface TimelockedCommit {
  readonly hotkey: AccountKey;
  readonly block: number;
  readonly commit: string; // hex
  readonly round: bigint;
}

export interface CommitmentRecord {
  readonly block: number;
  readonly fields: readonly { readonly kind: CommitmentKind; readonly hex: string }[];
}

interface CommitmentSpace {
  readonly epoch: number;
  readonly usedBytes: number;
}

interface ChainRecord {
  readonly timestampMs: number;
  readonly issuanceRao: bigint; // sum of accounts, stakes, pots, locks, remainder
  readonly remainderRao: bigint; // rounding and unpayable emissions
  readonly netuids: readonly number[];
  readonly lastLockRao: bigint;
  readonly lastLockBlock: number; // 0: none
}

export interface Tables {
  readonly chain: ChainRecord;
  readonly account: AccountRecord;
  readonly hotkey: HotkeyRecord;
  readonly subnet: SubnetRecord;
  readonly clock: ClockRecord;
  readonly pots: PotsRecord;
  readonly uid: number;
  readonly neuron: NeuronRecord;
  readonly seat: SeatRecord;
  readonly weights: RowRecord;
  readonly bonds: RowRecord;
  readonly stake: bigint;
  readonly salted: readonly SaltedCommit[];
  readonly timelocked: readonly TimelockedCommit[];
  readonly commitment: CommitmentRecord;
  readonly commitmentSpace: CommitmentSpace;
}

export type TableName = keyof Tables;

export const theChain = "";

/** Parts are in the order of the runtime's storage keys. */
export const keyOf = (...parts: readonly (number | string)[]): string => parts.join("/");

/** A bigint is its digits followed by `n`. */
const bigintText = /^-?\d+n$/;

export const textOfRecord = (record: unknown): string => JSON.stringify(record, spelled);

function spelled(_key: string, value: unknown): unknown {
  const isAmbiguous = typeof value === "string" && bigintText.test(value);
  assert(!isAmbiguous, `Cannot keep a text that looks like a bigint of a record: current value is '${value}'`);
  return typeof value === "bigint" ? `${value}n` : value;
}

export const recordOfText = (text: string): unknown =>
  JSON.parse(
    text,
    (_key, value: unknown) => typeof value === "string" && bigintText.test(value) ? BigInt(value.slice(0, -1)) : value,
  );

/** An invalid address is our bug. */
export function accountOf(address: Address): AccountKey {
  return present(
    decodeAddress(address),
    `Cannot use an account as its address must be ss58 with prefix 42: current value is '${address}'`,
  ).toHex();
}

export const addressOf = (account: AccountKey): Address => encodeAddress(Uint8Array.fromHex(account));
