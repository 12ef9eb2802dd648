/**
 * A small subnet for the suite of every `Chain`: an embedded ledger that makes a block when a test says so, and the
 * implementation under test connected to it. Time is the ledger's; nothing waits for a clock.
 */

import { assert, assertEquals } from "@std/assert";
import type { ChainCall, ChainSigner } from "../../chain/call.ts";
import type { Chain, Neuron, Receipt } from "../../chain/chain.ts";
import { type GenesisOptions, raoPerToken } from "../../chain/local/block/genesis.ts";
import { endowedGenesis } from "../support/chain/endowed.ts";
import type { LocalBlock } from "../../chain/local/block/ledger.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { hotkeyOfMiniSecret } from "../../chain/wallet/hotkey.ts";

/** Connects an implementation to the ledger. */
export type ConnectChain = (ledger: LocalLedger, netuid: number) => Promise<Chain>;

export const netuid = 9;
export const keyOf = (seed: number): ChainSigner => hotkeyOfMiniSecret(new Uint8Array(32).fill(seed));
export const ownerColdkey = keyOf(1), ownerHotkey = keyOf(2), coldkey = keyOf(3);
export const validator = keyOf(4), miner = keyOf(5), otherMiner = keyOf(6), stranger = keyOf(7);
export const tokens = (count: number): bigint => BigInt(count) * raoPerToken;

/** uids in a populated world. */
export const uids = { owner: 0, validator: 1, miner: 2, otherMiner: 3 } as const;

export class ChainWorld {
  #seenBlock = 0;
  #seen = Promise.withResolvers<void>();
  #submitted = Promise.withResolvers<void>();

  static async open(connect: ConnectChain, options: GenesisOptions = {}): Promise<ChainWorld> {
    const { hyperparameters, ...rest } = options;
    const usual = { tempoBlocks: 10, weightsRateLimitBlocks: 3, servingRateLimitBlocks: 3 };
    const genesis = endowedGenesis([ownerColdkey.address, coldkey.address], {
      ...{ netuid, ownerColdkey: ownerColdkey.address, ownerHotkey: ownerHotkey.address },
      blockMs: 1_000,
      ...rest,
      hyperparameters: { ...usual, ...hyperparameters },
    });
    const ledger = LocalLedger.open({ path: ":memory:", genesis });
    const world = new ChainWorld(ledger);
    world.chain = await connect(world.#watched(), netuid);
    world.chain.onHead(({ block }) => {
      world.#seenBlock = block;
      world.#seen.resolve();
      world.#seen = Promise.withResolvers();
    });
    return world;
  }

  chain!: Chain; // set by open
  private constructor(readonly ledger: LocalLedger) {}

  /** Makes blocks and waits until the chain under test has seen the last one. */
  async blocks(count: number): Promise<LocalBlock> {
    let block = this.ledger.head();
    for (let i = 0; i < count; i++) block = this.ledger.produceBlock(block.timestampMs + this.ledger.genesis.blockMs);
    while (this.#seenBlock < block.number) await this.#seen.promise;
    return block;
  }

  /** Up to the block of this number, and none when it is there. */
  async untilBlock(number: number): Promise<void> {
    await this.blocks(Math.max(0, number - this.ledger.head().number));
  }

  /** Through the next epoch of the subnet. */
  async epoch(): Promise<void> {
    const before = this.ledger.head().number;
    const ranIn = (block: number) => this.ledger.eventsOf(block).some(({ type }) => type === "epochRan");
    do await this.blocks(1); while (!ranIn(this.ledger.head().number) && this.ledger.head().number < before + 100);
  }

  /** Sends a call and makes the block it waits for. */
  async deliver(call: ChainCall, signer: ChainSigner): Promise<Receipt> {
    this.#submitted = Promise.withResolvers();
    const receipt = this.chain.send(call, signer);
    await Promise.race([this.#submitted.promise, receipt]);
    await this.blocks(1);
    return await receipt;
  }

  async included(call: ChainCall, signer: ChainSigner): Promise<number> {
    const receipt = await this.deliver(call, signer);
    assert(receipt.status === "included", `${call.type}: ${JSON.stringify(receipt)}`);
    return receipt.block;
  }

  /** `names`: one, or those it may have, as a client knows some refusals before it asks. */
  async refused(call: ChainCall, signer: ChainSigner, names: string | readonly string[]): Promise<void> {
    const receipt = await this.deliver(call, signer);
    const name = receipt.status === "refused" ? receipt.refusal.name : receipt.status;
    if (!names.includes(name) || typeof names === "string") assertEquals(name, names, call.type);
  }

  /** A validator with stake and a permit, and two miners, all of one coldkey; no weights yet. */
  async populate(): Promise<void> {
    for (const hotkey of [validator, miner, otherMiner]) {
      await this.included({ type: "burnedRegister", netuid, hotkey: hotkey.address }, coldkey);
    }
    await this.included({ type: "addStake", netuid, hotkey: validator.address, amountRao: tokens(1_000) }, coldkey);
    await this.epoch();
  }

  async neuron(uid: number): Promise<Neuron> {
    const { neurons } = await this.chain.metagraph();
    const neuron = neurons[uid];
    assert(neuron !== undefined, `uid ${uid} is in the metagraph`);
    return neuron;
  }

  async close(): Promise<void> {
    await this.chain.close();
    this.ledger.close();
  }

  /** The ledger, telling when something was submitted. */
  #watched(): LocalLedger {
    const { ledger } = this;
    const submit = ledger.submit.bind(ledger);
    ledger.submit = (options) => {
      const submission = submit(options);
      queueMicrotask(() => this.#submitted.resolve());
      return submission;
    };
    return ledger;
  }
}

export const weightsCall = (
  row: { readonly uids: readonly number[]; readonly values: readonly number[]; readonly versionKey?: bigint },
  mechanism = 0,
): ChainCall => ({ type: "setWeights", netuid, mechanism, versionKey: 0n, ...row });

/** Declares one test of the suite, with its chain's rules. */
export type ChainCase = (
  behaviour: string,
  options: GenesisOptions,
  body: (world: ChainWorld) => Promise<void>,
) => void;
