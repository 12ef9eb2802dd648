/**
 * A chain on which runs are announced, for tests of finding one: an embedded ledger that makes a block for every call that is
 * sent, and more when the test says so.
 */

import { assertEquals } from "@std/assert";
import type { ChainCall, ChainSigner } from "../../../chain/call.ts";
import { type GenesisOptions } from "../../../chain/local/block/genesis.ts";
import { endowedGenesis } from "./endowed.ts";
import { LocalChain } from "../../../chain/local/local_chain.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { inviteText } from "../../../cli/address/invite.ts";
import { nodeId } from "../../../core/ids.ts";
import { coldkey, keyOf, netuid, ownerColdkey, ownerHotkey, tokens } from "../../conformance/chain_world.ts";

export class FindingWorld {
  readonly ledger: LocalLedger;
  readonly chain: LocalChain;
  readonly #chains: LocalChain[] = [];
  sent: ChainCall["type"][] = [];

  constructor(options: GenesisOptions = {}) {
    const { hyperparameters, ...rest } = options;
    const genesis = endowedGenesis([ownerColdkey.address, coldkey.address], {
      ...{ netuid, ownerColdkey: ownerColdkey.address, ownerHotkey: ownerHotkey.address },
      ...rest,
      hyperparameters: { tempoBlocks: 10, ...hyperparameters },
    });
    this.ledger = LocalLedger.open({ path: ":memory:", genesis });
    this.chain = this.open();
  }

  /** A connection to the chain; each client has its own. */
  open(): LocalChain {
    const chain = new LocalChain({ ledger: this.ledger, netuid });
    const send = chain.send.bind(chain);
    chain.send = (call, signer) => {
      this.sent.push(call.type);
      const receipt = send(call, signer);
      this.block();
      return receipt;
    };
    this.#chains.push(chain);
    return chain;
  }

  block(): void {
    this.ledger.produceBlock(this.ledger.head().timestampMs + this.ledger.genesis.blockMs);
  }

  async included(call: ChainCall, signer: ChainSigner): Promise<void> {
    const receipt = await this.chain.send(call, signer);
    assertEquals(receipt.status, "included", JSON.stringify(receipt));
  }

  async register(hotkey: ChainSigner, payer: ChainSigner = coldkey): Promise<void> {
    await this.included({ type: "burnedRegister", netuid, hotkey: hotkey.address }, payer);
  }

  /** A permit, with the next epoch. */
  async stake(hotkey: ChainSigner, amount: number): Promise<void> {
    await this.included({ type: "addStake", netuid, hotkey: hotkey.address, amountRao: tokens(amount) }, coldkey);
    for (let i = 0; i <= 10; i++) this.block();
  }

  async publish(text: string, signer: ChainSigner): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    await this.included({ type: "setCommitment", netuid, fields: [{ kind: "raw", bytes }] }, signer);
  }

  async published(signer: ChainSigner): Promise<string | null> {
    const [own] = await this.chain.commitmentsOf([signer.address]);
    const [field] = own?.fields ?? [];
    return field === undefined ? null : new TextDecoder().decode(field.bytes);
  }

  async close(): Promise<void> {
    for (const chain of this.#chains) await chain.close();
    this.ledger.close();
  }
}

export const hubKey = keyOf(30);

export function inviteOf(run: string, socket = "ws://203.0.113.7:9009", hub = hubKey): string {
  return inviteText({ socket, run, hub: nodeId(hub.address) })!;
}

export async function withFindingWorld(
  options: GenesisOptions,
  body: (world: FindingWorld) => Promise<void>,
): Promise<void> {
  const world = new FindingWorld(options);
  try {
    await body(world);
  } finally {
    await world.close();
  }
}
