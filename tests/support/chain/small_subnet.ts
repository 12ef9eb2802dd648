/**
 * An embedded ledger with one small subnet, driven directly: calls in, blocks made, errors by name. //Alice pays for all but
 * the owner, whose coldkey is its hotkey.
 */

import { assertEquals } from "@std/assert";
import type { ChainCall } from "../../../chain/call.ts";
import { aliceAddress, type GenesisOptions, localGenesis } from "../../../chain/local/block/genesis.ts";
import type { LocalBlock, Submission } from "../../../chain/local/block/ledger.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { saltedCommitHash } from "../../../chain/weights/salted_commit.ts";
import { decodeAddress } from "../../../chain/wallet/ss58.ts";
import { keyOf, netuid, tokens } from "../../conformance/chain_world.ts";

export type Key = ReturnType<typeof keyOf>;

export const alice = decodeAddress(aliceAddress)!;
export const [owner, voter, miner, newcomer] = [60, 61, 62, 63].map(keyOf) as [Key, Key, Key, Key];

/** uids in a populated ledger. */
export const voterUid = 1, minerUid = 2;

export function openLedger(options: GenesisOptions = {}, path = ":memory:"): LocalLedger {
  const owned = { ownerColdkey: owner.address, ownerHotkey: owner.address, ...options };
  return LocalLedger.open({ path, genesis: localGenesis(owned) });
}

/** Makes blocks a second apart. */
export function blocks(ledger: LocalLedger, count: number): LocalBlock {
  for (let i = 0; i < count; i++) ledger.produceBlock(ledger.head().timestampMs + 1_000);
  return ledger.head();
}

/** Into the pool, signed by //Alice or by a hotkey. */
export const submit = (ledger: LocalLedger, call: ChainCall, from: Uint8Array = alice): Submission =>
  ledger.submit({ from, nonce: ledger.nonceOf(from), call });

/** Sends and makes the block: the error's name, the pool's number, or null. */
export function send(ledger: LocalLedger, call: ChainCall, from: Uint8Array = alice): string | null {
  const submission = submit(ledger, call, from);
  if (submission.status === "refused") return `${submission.kind} ${submission.custom}`;
  return blocks(ledger, 1).outcomes.at(-1)?.error?.name ?? null;
}

/** Runs blocks until an epoch has; that block. */
export function epoch(ledger: LocalLedger): number {
  let { number } = ledger.head();
  do ({ number } = blocks(ledger, 1)); while (!ledger.eventsOf(number).some(({ type }) => type === "epochRan"));
  return number;
}

export const register = (hotkey: Key): ChainCall => ({ type: "burnedRegister", netuid, hotkey: hotkey.address });
export const stake = (hotkey: Key, amountRao: bigint): ChainCall => ({
  ...{ type: "addStake", netuid, hotkey: hotkey.address, amountRao },
});
export const unstake = (hotkey: Key, amountAlpha: bigint): ChainCall => ({
  ...{ type: "removeStake", netuid, hotkey: hotkey.address, amountAlpha },
});
export const vote = (uids: readonly number[], values: readonly number[]): ChainCall => ({
  ...{ type: "setWeights", netuid, mechanism: 0, versionKey: 0n, uids, values },
});

/** The voter's row under a salt: hidden, and shown. */
const hiddenRow = { uids: [minerUid], values: [65_535] };
export const commit = (salt: number): ChainCall => {
  const { publicKey } = voter;
  const hash = saltedCommitHash({ publicKey, netuid, mechanism: 0, row: hiddenRow, salt: [salt], versionKey: 0n });
  return { type: "commitWeights", netuid, mechanism: 0, hash };
};
export const reveal = (salt: number): ChainCall => ({
  ...{ type: "revealWeights", netuid, mechanism: 0, ...hiddenRow, salt: [salt], versionKey: 0n },
});

/** The voter has stake and a permit, the miner a seat. */
export function populated(options: GenesisOptions = {}, path?: string): LocalLedger {
  const ledger = openLedger(options, path);
  for (const hotkey of [voter, miner]) assertEquals(send(ledger, register(hotkey)), null);
  assertEquals(send(ledger, stake(voter, tokens(1_000))), null);
  epoch(ledger);
  return ledger;
}
