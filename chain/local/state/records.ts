/**
 * The embedded chain's records: one table per kind, one record per key. Plain data, replaced and never mutated.
 *
 * Keys are built by the functions here. Inside the chain, accounts are public keys in hex; addresses exist only at its
 * edges. Deliberately simpler than the runtime: one token (alpha is worth one tao, there is no pool and no price), so
 * stake is one amount per hotkey and subnet and belongs to the hotkey's coldkey; no nominators, child keys, takes, root
 * subnet or collateral.
 */

import type { Address, CommitmentKind } from "../../call.ts";
import type { Hyperparameters } from "../block/genesis.ts";
import { assert, present } from "../../../core/assert.ts";
import { decodeAddress, encodeAddress } from "../../wallet/ss58.ts";

/** Public key, 64 lower-case hex digits. */
export type AccountKey = string;

export interface AccountRecord {
  readonly freeRao: bigint;
  readonly nonce: number;
}

export interface HotkeyRecord {
  readonly coldkey: AccountKey;
}

export interface SubnetRecord {
  readonly ownerColdkey: AccountKey;
  readonly ownerHotkey: AccountKey;
  readonly registeredAtBlock: number;
  readonly lockedRao: bigint; // what its owner paid for it
  readonly neuronCount: number; // uids are 0 .. neuronCount - 1
  readonly hyperparameters: Hyperparameters;
}

export interface ClockRecord {
  readonly lastEpochBlock: number;
  readonly pendingEpochAtBlock: number; // 0: none
  readonly epochIndex: number;
  readonly blocksSinceLastStep: number;
  readonly lastStepBlock: number; // the runtime's LastMechansimStepBlock
  readonly burnRao: bigint; // the current registration price
}

export interface PotsRecord {
  readonly ownerRao: bigint;
  readonly minersRao: bigint;
  readonly validatorsRao: bigint;
}

export interface AxonRecord {
  readonly block: number;
  readonly version: number;
  readonly ip: string; // in its canonical spelling
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
  readonly emissionRao: bigint; // of the last epoch
  readonly axon: AxonRecord | null;
}

/** A neuron in one mechanism of its subnet. */
export interface SeatRecord {
  readonly lastUpdateBlock: number; // weights set or committed; the registration counts
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

export interface CommitmentSpace {
  readonly epoch: number;
  readonly usedBytes: number;
}

export interface ChainRecord {
  readonly timestampMs: number;
  readonly issuanceRao: bigint; // equals the sum of accounts, stakes, pots, locks and the remainder
  readonly remainderRao: bigint; // remainders of divisions, and emissions that could not be paid
  readonly netuids: readonly number[]; // ascending
  readonly lastLockRao: bigint; // of the newest subnet
  readonly lastLockBlock: number; // 0: none registered yet
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

/** Keys of several parts. The order of the parts is that of the runtime's storage. */
export const keyOf = (...parts: readonly (number | string)[]): string => parts.join("/");

/** Records as text: JSON in which a bigint is its digits followed by `n`. */
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

/**
 * Converts addresses in calls to the chain's keys and back. A call with an invalid address cannot be encoded, so
 * that is our bug.
 */
export function accountOf(address: Address): AccountKey {
  return present(
    decodeAddress(address),
    `Cannot use an account as its address must be ss58 with prefix 42: current value is '${address}'`,
  ).toHex();
}

export const addressOf = (account: AccountKey): Address => encodeAddress(Uint8Array.fromHex(account));
