/** The embedded chain as a ledger: blocks and headers, nonces, blocks of the past, hyperparameters, a disk that fails. */

import { blake2b } from "@noble/hashes/blake2.js";
import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import type { ChainCall } from "../../../../chain/call.ts";
import { nextEpochBlock } from "../../../../chain/epochs/epochs.ts";
import { heldRao } from "../../../../chain/local/epoch/emission.ts";
import {
  aliceAddress,
  bobAddress,
  type GenesisOptions,
  localGenesis,
  mainnetGenesis,
} from "../../../../chain/local/block/genesis.ts";
import { encodeHeader } from "../../../../chain/local/block/header.ts";
import type { LocalBlock } from "../../../../chain/local/block/ledger.ts";
import { LocalChain } from "../../../../chain/local/local_chain.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { decodeAddress } from "../../../../chain/wallet/ss58.ts";
import { keyOf, netuid, tokens } from "../../../conformance/chain_world.ts";

const alice = decodeAddress(aliceAddress)!;
const bob = decodeAddress(bobAddress)!;
const payBob: ChainCall = { type: "transfer", to: bobAddress, amountRao: tokens(1) };

function openLedger(options: GenesisOptions = {}): LocalLedger {
  return LocalLedger.open({ path: ":memory:", genesis: localGenesis(options) });
}

const errorsOf = ({ outcomes }: LocalBlock) => outcomes.map(({ submission, error }) => [submission, error]);

/** One block, a second later. */
const step = (ledger: LocalLedger) => ledger.produceBlock(ledger.head().timestampMs + 1_000);

Deno.test("Ledger: a block's hash is blake2b-256 of its SCALE header, and headers lead back to the first block", () => {
  const ledger = openLedger();
  for (let i = 0; i < 70; i++) step(ledger); // past one compact byte
  let hash = ledger.head().hash;
  for (let number = 70; number >= 0; number--) {
    const header = ledger.header(hash)!;
    assertEquals(header.number, number);
    assertEquals(blake2b(encodeHeader(header), { dkLen: 32 }), hash);
    assertEquals(ledger.blockHash(number), hash);
    hash = header.parentHash;
  }
  assertEquals(hash, new Uint8Array(32));
  assertEquals(ledger.genesisHash, ledger.blockHash(0));
  assertEquals([ledger.header(new Uint8Array(32)), ledger.blockHash(71)], [null, null]);
  ledger.close();
});

Deno.test("Ledger: the same genesis, calls and times give the same hashes", () => {
  const run = (): string => {
    const ledger = openLedger();
    for (let nonce = 0; nonce < 5; nonce++) {
      ledger.submit({ from: alice, nonce, call: payBob });
      step(ledger);
    }
    const hash = ledger.head().hash.toHex();
    ledger.close();
    return hash;
  };
  assertEquals(run(), run());
});

Deno.test("Ledger: nonces count calls of a block and of the pool, and no number is used twice or left out", () => {
  const ledger = openLedger();
  const submit = (nonce: number) => ledger.submit({ from: alice, nonce, call: payBob });
  assertEquals(submit(0).status, "accepted");
  assertEquals(submit(1).status, "accepted");
  assertEquals(ledger.nonceOf(alice), 2);
  assertEquals(submit(1), { status: "refused", kind: "lowPriority", custom: null });
  assertEquals(submit(3), { status: "refused", kind: "future", custom: null });
  assertEquals(errorsOf(step(ledger)), [[1, null], [2, null]]);
  assertEquals(submit(1), { status: "refused", kind: "stale", custom: null });
  assertEquals(submit(2).status, "accepted");
  assertEquals(ledger.nonceOf(bob), 0);
  ledger.close();
});

Deno.test("Ledger: a call that fails in its block costs its nonce and its fee, and changes nothing else", () => {
  const ledger = openLedger({ feeRao: 1_000n });
  const poor = keyOf(40);
  assertEquals(ledger.submit({ from: poor.publicKey, nonce: 0, call: payBob }), {
    ...{ status: "refused", kind: "payment", custom: null },
  });
  const tooMuch: ChainCall = { type: "transfer", to: bobAddress, amountRao: tokens(10 ** 7) };
  ledger.submit({ from: alice, nonce: 0, call: tooMuch });
  const free = (account: Uint8Array) =>
    (ledger.storage("System.Account", [account]) as { data: { free: bigint } }).data.free;
  const before = [free(alice), free(bob)];
  assertEquals(errorsOf(step(ledger)), [[1, { pallet: "Token", name: "FundsUnavailable" }]]);
  assertEquals([free(alice) + 1_000n, free(bob)], before);
  assertEquals(ledger.nonceOf(alice), 1);
  assertEquals(ledger.storage("Balances.TotalIssuance", []), heldRao(ledger.state));
  ledger.close();
});

Deno.test("Ledger: a block that cannot be made leaves state and pool as they were", () => {
  const ledger = openLedger();
  ledger.submit({ from: alice, nonce: 0, call: payBob });
  ledger.state.prepare = () => {
    throw new Error("the disk is full");
  };
  assertThrows(() => step(ledger), Error, "the disk is full");
  assertEquals([ledger.head().number, ledger.nonceOf(alice)], [0, 1]);
  Reflect.deleteProperty(ledger.state, "prepare");
  assertEquals(step(ledger).outcomes.length, 1);
  ledger.close();
});

Deno.test("Ledger: time does not go back, and listeners hear every block until they stop", () => {
  const ledger = openLedger();
  const heard: number[] = [];
  const stop = ledger.onBlock(({ timestampMs }) => heard.push(timestampMs - ledger.genesis.startMs));
  ledger.produceBlock(ledger.genesis.startMs + 5_000);
  ledger.produceBlock(ledger.genesis.startMs + 4_000);
  stop();
  step(ledger);
  assertEquals(heard, [5_000, 5_001]);
  ledger.close();
});

Deno.test("Ledger: the state of the last 64 blocks can be read, older ones are gone", () => {
  const ledger = openLedger();
  for (let nonce = 0; nonce < 80; nonce++) {
    ledger.submit({ from: alice, nonce, call: payBob });
    step(ledger);
  }
  const nonceAt = (block: number) =>
    (ledger.at(block)?.storage("System.Account", [alice]) as { nonce: number } | undefined)?.nonce;
  assertEquals([nonceAt(80), nonceAt(79), nonceAt(16)], [80, 79, 16]);
  assertEquals([ledger.at(15), ledger.at(81), ledger.at(-1)], [null, null, null]);
  const past = ledger.at(70)?.runtimeApi("SubnetInfoRuntimeApi.get_metagraph", [netuid]) as { block: bigint };
  assertEquals(past.block, 70n);
  ledger.close();
});

Deno.test("Ledger: hyperparameters change with the next block, and epochs follow a new tempo", async () => {
  const ledger = openLedger({ hyperparameters: { tempoBlocks: 50 } });
  const chain = new LocalChain({ ledger, netuid });
  ledger.setHyperparameters(netuid, { tempoBlocks: 7 });
  assertEquals(ledger.storage("SubtensorModule.Tempo", [netuid]), 50);
  step(ledger);
  assertEquals(ledger.storage("SubtensorModule.Tempo", [netuid]), 7);
  const due = nextEpochBlock(await chain.epochState());
  while (!ledger.eventsOf(ledger.head().number).some(({ type }) => type === "epochRan")) step(ledger);
  assertEquals(ledger.head().number, due);
  await chain.close();
  ledger.close();
});

Deno.test("Ledger: an added mechanism has a seat for every neuron", () => {
  const ledger = openLedger({ hyperparameters: { tempoBlocks: 5 } });
  ledger.setHyperparameters(netuid, { mechanisms: 3 });
  for (let i = 0; i < 12; i++) step(ledger);
  assertEquals(ledger.storage("SubtensorModule.LastUpdate", [2 * 4_096 + netuid]), [0n]);
  assertThrows(() => ledger.setHyperparameters(77, {}), Error, "the subnet must exist");
  ledger.close();
});

Deno.test("Ledger: tokens are conserved over a long random life with registrations, prunings, stakes and epochs", () => {
  const hyperparameters = { tempoBlocks: 7, maxUids: 6, immunityPeriodBlocks: 3, mechanisms: 2 };
  const ledger = openLedger({ hyperparameters, feeRao: 777n });
  let nonce = 0;
  const call = (next: ChainCall) => ledger.submit({ from: alice, nonce: nonce++, call: next });
  for (let i = 0; i < 60; i++) {
    const hotkey = keyOf(50 + i % 12).address;
    call({ type: "burnedRegister", netuid, hotkey });
    call({ type: "addStake", netuid, hotkey, amountRao: tokens(1 + i) + BigInt(i * 7_919) });
    if (i % 5 === 4) call({ type: "removeStake", netuid, hotkey, amountAlpha: tokens(3) + 1n });
    if (i % 20 === 9) call({ type: "registerNetwork", hotkey });
    const seat = keyOf(50 + i % 12);
    const row = { uids: [0, 1, 2, 3], values: [i, 1, 2 * i + 1, 7] };
    ledger.submit({
      ...{ from: seat.publicKey, nonce: ledger.nonceOf(seat.publicKey) },
      call: { type: "setWeights", netuid, mechanism: i % 2, versionKey: 0n, ...row },
    });
    step(ledger);
    assertEquals(ledger.storage("Balances.TotalIssuance", []), heldRao(ledger.state), `block ${i + 1}`);
  }
  const { remainderRao } = ledger.state.get("chain", "");
  const firstEpochs = 3n * 7n * tokens(82) / 100n; // of the three new subnets, where no one had stake yet
  assert(remainderRao - firstEpochs < 1_000n, `divisions left ${remainderRao - firstEpochs} rao over`);
  ledger.close();
});

Deno.test("Genesis: a chain like mainnet has its numbers", async () => {
  const ledger = LocalLedger.open({ path: ":memory:", genesis: mainnetGenesis() });
  const chain = new LocalChain({ ledger, netuid });
  const parameters = await chain.parameters();
  const { tempoBlocks, blockMs, isCommitReveal, weightsRateLimitBlocks, maxUids } = parameters;
  assertEquals([tempoBlocks, blockMs, isCommitReveal, weightsRateLimitBlocks, maxUids], [360, 12_000, true, 100, 256]);
  assertEquals((await chain.metagraph()).neurons.length, 1);
  assertNotEquals(parameters.registrationCostRao, 0n);
  await chain.close();
  ledger.close();
});
