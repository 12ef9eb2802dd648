/** The events of the embedded chain's calls as another implementation decodes them: the runtime's names, fields and order. */

import { assertEquals } from "@std/assert";
import { Metadata, TypeRegistry } from "@polkadot/types";
import type { ChainCall } from "../../../../chain/call.ts";
import type { GenesisOptions } from "../../../../chain/local/block/genesis.ts";
import { hashBytes } from "../../../../chain/local/block/header.ts";
import type { LocalBlock } from "../../../../chain/local/block/ledger.ts";
import { blockEvents } from "../../../../chain/local/rpc/events.ts";
import { saltedCommitHash } from "../../../../chain/weights/salted_commit.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../../../chain/timelock/weights_payload.ts";
import { aliceAddress } from "../../../../chain/local/block/genesis.ts";
import { keyOf, netuid, tokens } from "../../../conformance/chain_world.ts";
import { testRuntime } from "../../../support/chain/node_world.ts";
import {
  blocks,
  commit,
  epoch,
  type Key,
  miner,
  minerUid,
  newcomer,
  openLedger,
  populated,
  register,
  reveal,
  stake,
  submit,
  unstake,
  vote,
  voter,
  voterUid,
} from "../../../support/chain/small_subnet.ts";

const registry = new TypeRegistry();
registry.setMetadata(new Metadata(registry, `0x${testRuntime.metadata.get(15)!.toHex()}`));

interface Record {
  readonly phase: { toString(): string };
  readonly event: { readonly section: string; readonly method: string; readonly data: { toJSON(): unknown } };
}

/** `section.Method [fields]` of a block, without the clock's. Every call counts as one that came through a node. */
function shown(block: LocalBlock): string[] {
  const extrinsics = block.outcomes.map((outcome) => ({ ...outcome, isFree: false }));
  const { bytes, count } = blockEvents(testRuntime, { byItself: block.events, extrinsics });
  const records = [...registry.createType("Vec<FrameSystemEventRecord>", bytes) as unknown as Iterable<Record>];
  assertEquals(records.length, count);
  return records.filter(({ phase }) => phase.toString() !== '{"applyExtrinsic":0}')
    .filter(({ event }) => event.section !== "system" || event.method === "NewAccount")
    .map(({ event }) => `${event.section}.${event.method} ${JSON.stringify(event.data.toJSON())}`);
}

const paid = (account: string, rao = 0): string => `transactionPayment.TransactionFeePaid ["${account}",${rao},0]`;

/** What one call leads to in its block. */
function after(ledger: ReturnType<typeof openLedger>, call: ChainCall, from?: Uint8Array): string[] {
  submit(ledger, call, from);
  return shown(blocks(ledger, 1));
}

function withLedger(options: GenesisOptions, use: (ledger: ReturnType<typeof openLedger>) => void, open = populated) {
  const ledger = open(options);
  try {
    use(ledger);
  } finally {
    ledger.close();
  }
}

const alice = aliceAddress;

Deno.test("Events: tokens that move, with the fee before and behind them", () =>
  withLedger({ feeRao: 125n }, (ledger) => {
    const fee = [`balances.Withdraw ["${alice}",125]`, paid(alice, 125)];
    const [charged, counted] = fee as [string, string];
    const to = newcomer.address, transfer: ChainCall = { type: "transfer", to, amountRao: 7_000n };
    const moved = `balances.Transfer ["${alice}","${to}",7000]`;
    const born = [`system.NewAccount ["${to}"]`, `balances.Endowed ["${to}",7000]`];
    assertEquals(after(ledger, transfer), [charged, ...born, moved, counted]);
    assertEquals(after(ledger, transfer), [charged, moved, counted]);
    assertEquals(after(ledger, { ...transfer, to: alice }), [charged, counted]); // to itself: nothing moves
    assertEquals(after(ledger, { ...transfer, amountRao: tokens(10 ** 9) }), [charged, counted]); // it fails
    const amount = Number(tokens(3));
    const fields = `["${alice}","${voter.address}",${amount},${amount},${netuid},0]`;
    assertEquals(after(ledger, stake(voter, tokens(3))), [
      ...[charged, `balances.Withdraw ["${alice}",${amount}]`, `subtensorModule.StakeAdded ${fields}`, counted],
    ]);
    assertEquals(after(ledger, unstake(voter, tokens(3))), [
      ...[charged, `balances.Deposit ["${alice}",${amount}]`, `subtensorModule.StakeRemoved ${fields}`, counted],
    ]);
  }));

Deno.test("Events: registration, a new subnet, an axon", () =>
  withLedger({}, (ledger) => {
    const burned = /^balances\.Withdraw \["\w+",\d+\]$/;
    const [cost, ...registered] = after(ledger, register(newcomer));
    assertEquals(burned.test(cost!), true, cost);
    assertEquals(registered, [`subtensorModule.NeuronRegistered [${netuid},3,"${newcomer.address}"]`, paid(alice)]);
    const founder: Key = keyOf(99);
    const [lock, ...founded] = after(ledger, { type: "registerNetwork", hotkey: founder.address });
    assertEquals(burned.test(lock!), true, lock);
    assertEquals(founded, ["subtensorModule.NetworkAdded [1,1]", paid(alice)]);
    const axon = { ip: "203.0.113.1", port: 8091, protocol: 4, version: 1 };
    assertEquals(after(ledger, { type: "serveAxon", netuid, axon }, miner.publicKey), [
      ...[`subtensorModule.AxonServed [${netuid},"${miner.address}"]`, paid(miner.address)],
    ]);
  }));

Deno.test("Events: weights in the open, and by salt", () => {
  withLedger({}, (ledger) => {
    assertEquals(after(ledger, vote([minerUid], [1]), voter.publicKey), [
      ...[`subtensorModule.WeightsSet [${netuid},${voterUid}]`, paid(voter.address)],
    ]);
  });
  withLedger({ hyperparameters: { isCommitReveal: true } }, (ledger) => {
    const { publicKey, address } = voter;
    const row = { uids: [minerUid], values: [65_535] };
    const hash = saltedCommitHash({ publicKey, netuid, mechanism: 0, row, salt: [5], versionKey: 0n }).toHex();
    const fields = `["${address}",${netuid},"0x${hash}"]`;
    assertEquals(after(ledger, commit(5), publicKey), [`subtensorModule.WeightsCommitted ${fields}`, paid(address)]);
    epoch(ledger);
    const set = `subtensorModule.WeightsSet [${netuid},${voterUid}]`;
    const revealed = after(ledger, reveal(5), publicKey);
    assertEquals(revealed, [set, `subtensorModule.WeightsRevealed ${fields}`, paid(address)]);
  });
});

Deno.test("Events: timelocked weights open before any call of the block, in the chain's own phase", () =>
  withLedger({ hyperparameters: { isCommitReveal: true } }, (ledger) => {
    const { publicKey, address } = voter;
    const plaintext = encodeWeightsPayload({ hotkey: publicKey, uids: [minerUid], values: [65_535], versionKey: 0n });
    const round = ledger.beacon.lastRound(ledger.head().timestampMs) + 1n;
    const random = new Uint8Array(timelockRandomBytes).fill(3);
    const sealed = encryptTimelocked({ plaintext, round, beacon: ledger.beacon.beacon, random });
    const call: ChainCall = {
      ...{ type: "commitTimelockedWeights", netuid, mechanism: 0, commit: sealed, revealRound: round },
      commitRevealVersion: 4,
    };
    assertEquals(after(ledger, call, publicKey), [
      `subtensorModule.TimelockedWeightsCommitted ["${address}",${netuid},"0x${hashBytes(sealed).toHex()}",${round}]`,
      paid(address),
    ]);
    let found: string[] = [];
    for (let i = 0; i < 40 && found.length === 0; i++) found = shown(blocks(ledger, 1));
    assertEquals(found, [
      `subtensorModule.WeightsSet [${netuid},${voterUid}]`,
      `subtensorModule.TimelockedWeightsRevealed [${netuid},"${address}"]`,
    ]);
    const { bytes } = blockEvents(testRuntime, { byItself: ledger.head().events, extrinsics: [] });
    const [first] = [...registry.createType("Vec<FrameSystemEventRecord>", bytes) as unknown as Iterable<Record>];
    assertEquals(first!.phase.toString(), "Initialization");
  }));
