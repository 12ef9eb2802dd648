/**
 * A swarm's chain: an embedded one in this process with one subnet, where its validators set weights and its miners earn.
 *
 * Owns: its file in the run's folder, registration (of every node, paid by the development account //Alice), the stake
 * of validators, and the record of earnings. Never delays the run: a failed call is a warning. A resumed swarm keeps
 * its chain.
 */

import type { ChainCall, ChainSigner } from "../../chain/call.ts";
import type { ChainEvent } from "../../chain/local/events.ts";
import { localGenesis, raoPerToken } from "../../chain/local/genesis.ts";
import type { LocalBlock } from "../../chain/local/ledger.ts";
import { LocalChain } from "../../chain/local/local_chain.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { ChainStoreError } from "../../chain/local/state/chain_store.ts";
import { keyOfSecretUri } from "../../chain/wallet/secret_uri.ts";
import { present } from "../../core/assert.ts";
import { systemTimers } from "../../net/timers.ts";
import { keepChainWeights, readChainWeights } from "../duty/weights_file.ts";
import { type LiveLedger, serveLedger } from "../chain/serve_ledger.ts";
import { UserError } from "../output/errors.ts";
import { shellWords } from "../shell_words.ts";
import { exists } from "../run_folder.ts";
import type { ChainActivity } from "../../core/view/view.ts";

export interface SwarmChainOptions {
  readonly folder: string; // the run's folder
  readonly onEvent: (event: { readonly type: string } & Readonly<Record<string, unknown>>) => void;
  /** For people, only the first of each kind. */
  readonly onNews: (text: string) => void;
  readonly onActivity: (activity: ChainActivity) => void;
  readonly warn: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/** What went wrong with the chain's file, with the next step. */
function explained(error: unknown, folder: string): unknown {
  if (!(error instanceof ChainStoreError)) return error;
  const next = `If the disk is full, free some space. Then continue: ${
    shellWords(["iota", "swarm", "--data", folder])
  }`;
  return new UserError(error.message, { next, cause: error });
}

export interface Enrolled {
  readonly name: string;
  readonly role: "miner" | "validator";
  readonly hotkey: string;
}

/** A node's earnings in the summary. */
export interface Emission extends Enrolled {
  readonly emissionRao: string; // in the subnet's alpha
}

const netuid = 9;
const blockMs = 400;
const tempoBlocks = 10; // an epoch every 4 s
const validatorStakeRao = 1_000n * raoPerToken;

export class SwarmChain {
  readonly url: string;
  readonly #options: SwarmChainOptions;
  readonly #ledger: LocalLedger;
  readonly #live: LiveLedger;
  readonly #chain: LocalChain;
  readonly #payer: ChainSigner = present(keyOfSecretUri("//Alice"), "//Alice is a key").pair;
  readonly #enrolled = new Map<string, Enrolled>(); // by hotkey
  readonly #earnedRao = new Map<string, bigint>(); // by hotkey
  #weightsSet = 0;
  #weightsBlock = 0; // newest block with weights
  #epochs = 0;
  #epochBlock = 0; // newest
  #awaiting: (() => void)[] = []; // the next epoch
  #keeping = Promise.resolve(); // the weights for the dashboard
  #isWeightless = false; // that failed before

  static async open(options: SwarmChainOptions): Promise<SwarmChain> {
    const folder = `${options.folder}/chain`;
    const path = `${folder}/chain.sqlite`;
    await Deno.mkdir(folder, { recursive: true });
    const isThere = await exists(path);
    const hyperparameters = { tempoBlocks, weightsRateLimitBlocks: 2 };
    const genesis = isThere ? null : localGenesis({ netuid, blockMs, startMs: systemTimers.nowMs(), hyperparameters });
    const ledger = LocalLedger.open({ path, genesis });
    try {
      const live = await serveLedger({ ledger, host: "127.0.0.1", port: 0 });
      return new SwarmChain(options, { ledger, live });
    } catch (error) {
      ledger.close();
      throw error;
    }
  }

  private constructor(options: SwarmChainOptions, { ledger, live }: { ledger: LocalLedger; live: LiveLedger }) {
    this.#options = options;
    this.#ledger = ledger;
    this.#live = live;
    this.url = live.url;
    this.#chain = new LocalChain({ ledger, netuid });
    ledger.onBlock((block) => this.#onBlock(block));
    live.failed.catch((error) => options.onFailure(explained(error, options.folder)));
  }

  /** The options with which a node finds this subnet. */
  get words(): readonly string[] {
    return ["--chain", this.url, "--netuid", String(netuid)];
  }

  /** Registers a node, and stakes for a validator; does nothing for one that is already registered. */
  enroll(node: Enrolled): void {
    if (this.#enrolled.has(node.hotkey)) return;
    this.#enrolled.set(node.hotkey, node);
    this.#register(node).catch(this.#options.onFailure);
  }

  /** Resolves when an epoch has paid for the newest weights; at once if there are none. */
  async paid(): Promise<void> {
    if (this.#weightsSet === 0 || this.#epochBlock > this.#weightsBlock) return;
    await new Promise<void>((resolve) => this.#awaiting.push(resolve));
  }

  /** In alpha's smallest unit, by hotkey; 0 for who was never paid. */
  earned(role: Enrolled["role"]): Map<string, number> {
    const nodes = [...this.#enrolled.values()].filter((node) => node.role === role);
    return new Map(nodes.map(({ hotkey }) => [hotkey, Number(this.#earnedRao.get(hotkey) ?? 0n)]));
  }

  summary(): Record<string, unknown> {
    const byName = new Intl.Collator("en", { numeric: true });
    const nodes = [...this.#enrolled.values()].sort((a, b) => byName.compare(a.name, b.name));
    const emission: Emission[] = nodes.map(({ name, role, hotkey }) => ({
      ...{ hotkey, name, role },
      emissionRao: String(this.#earnedRao.get(hotkey) ?? 0n),
    }));
    return { chain: this.url, weightsSet: this.#weightsSet, epochs: this.#epochs, emission };
  }

  async close(): Promise<void> {
    for (const resolve of this.#awaiting.splice(0)) resolve();
    await this.#keeping;
    await this.#chain.close();
    await this.#live.close();
    this.#ledger.close();
  }

  async #register({ name, role, hotkey }: Enrolled): Promise<void> {
    const { neurons } = await this.#chain.metagraph();
    if (neurons.some((neuron) => neuron.hotkey === hotkey)) return;
    const isIn = await this.#send(name, { type: "burnedRegister", netuid, hotkey });
    if (!isIn || role !== "validator") return;
    await this.#send(name, { type: "addStake", netuid, hotkey, amountRao: validatorStakeRao });
  }

  async #send(name: string, call: ChainCall): Promise<boolean> {
    const receipt = await this.#chain.send(call, this.#payer);
    if (receipt.status === "included") return true;
    const why = receipt.status === "refused" ? receipt.refusal.sentence : receipt.why;
    this.#options.warn(`The chain did not accept ${call.type} for ${name}: ${why}`);
    return false;
  }

  #onBlock({ number }: LocalBlock): void {
    for (const event of this.#ledger.eventsOf(number)) this.#onEvent(event, number);
    const minersRao = [...this.#enrolled.values()].filter(({ role }) => role === "miner")
      .reduce((sum, { hotkey }) => sum + (this.#earnedRao.get(hotkey) ?? 0n), 0n);
    this.#options.onActivity({
      block: number,
      weightsSet: this.#weightsSet,
      epochs: this.#epochs,
      minersRao: String(minersRao),
    });
  }

  #onEvent(event: ChainEvent, block: number): void {
    if (event.type === "weightsSet") {
      this.#weightsSet += 1;
      this.#weightsBlock = block;
      this.#options.onEvent({ type: "weightsSet", block, uid: event.uid });
      if (this.#weightsSet === 1) this.#options.onNews(`a validator's weights are in block ${block}`);
    }
    if (event.type !== "epochRan") return;
    this.#epochs += 1;
    this.#epochBlock = block;
    this.#pay(block).catch(this.#options.onFailure);
  }

  /** For the dashboard, which the orchestrator's process serves. */
  #keepWeights(): Promise<void> {
    const { folder, warn } = this.#options;
    const keep = async () => keepChainWeights(folder, await readChainWeights(this.#chain, systemTimers.nowMs()));
    return this.#keeping = this.#keeping.then(keep).catch((error) => {
      if (!this.#isWeightless) warn(`The dashboard shows no new weights: ${error.message}`);
      this.#isWeightless = true;
    });
  }

  async #pay(block: number): Promise<void> {
    const { neurons } = await this.#chain.metagraph(); // still in this block: nothing is awaited before
    const paid = neurons.filter(({ emissionRao }) => emissionRao > 0n);
    for (const { hotkey, emissionRao } of paid) {
      this.#earnedRao.set(hotkey, (this.#earnedRao.get(hotkey) ?? 0n) + emissionRao);
    }
    const emission = paid.map(({ hotkey, emissionRao }) => ({ hotkey, emissionRao: String(emissionRao) }));
    this.#options.onEvent({ type: "epochPaid", block, emission });
    if (this.#epochBlock > this.#weightsBlock) { for (const resolve of this.#awaiting.splice(0)) resolve(); }
    await this.#keepWeights();
  }
}
