/**
 * A swarm's chain, embedded in this process, with one subnet. It registers every node by a coldkey of its own, stakes
 * for validators, and records earnings.
 */

import type { ChainEvent } from "../../chain/local/block/events.ts";
import { localGenesis } from "../../chain/local/block/genesis.ts";
import type { LocalBlock } from "../../chain/local/block/ledger.ts";
import { LocalChain } from "../../chain/local/local_chain.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { ChainStoreError } from "../../chain/local/state/chain_store.ts";
import { systemTimers } from "../../net/timers.ts";
import { chainWords, type NamedChain } from "../terminal/options/named_chain.ts";
import { awaitsPermit, enrolOnDevelopmentChain } from "../chain/duty/development_chain.ts";
import { keepChainWeights, readChainWeights } from "../chain/duty/weights_file.ts";
import { type LiveLedger, serveLedger } from "../chain/serve_ledger.ts";
import { UserError } from "../program/errors.ts";
import { shellWords } from "../program/shell_words.ts";
import { exists } from "../files/run_folder.ts";
import type { ChainActivity } from "../../core/view/view.ts";
import { earlierNodes, type Enrolled, Payees, SwarmPay } from "./payees.ts";
import type { Paint } from "../terminal/text/paint.ts";
import { shortAddress } from "../terminal/text/format.ts";

interface SwarmChainOptions {
  readonly folder: string;
  readonly onEvent: (event: { readonly type: string } & Readonly<Record<string, unknown>>) => void;
  /** Only the first of each kind. */
  readonly onNews: (text: string) => void;
  readonly onActivity: (activity: ChainActivity) => void;
  readonly warn: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

function explained(error: unknown, folder: string): unknown {
  if (!(error instanceof ChainStoreError)) return error;
  const next = `If the disk is full, free some space. Then continue: ${
    shellWords(["iota", "swarm", "--data", folder])
  }`;
  return new UserError(error.message, { next, cause: error });
}

/** Since its first block. */
export interface Emission extends Enrolled {
  readonly emissionRao: string; // alpha; its stake, less what was staked
}

const netuid = 9;
const blockMs = 400;
const tempoBlocks = 10; // an epoch every 4 s

export class SwarmChain {
  readonly url: string;
  readonly #options: SwarmChainOptions;
  readonly #ledger: LocalLedger;
  readonly #live: LiveLedger;
  readonly #chain: LocalChain;
  readonly #pay: SwarmPay;
  readonly #payees: Payees;
  readonly #enrolments = new Map<string, Promise<void>>();
  readonly #paidRao = new Map<string, bigint>(); // by hotkey, until the newest epoch
  #weightsSet = 0;
  #weightsBlock = 0; // newest block with weights
  #epochs = 0;
  #epochBlock = 0; // newest
  #awaiting: (() => void)[] = []; // for the next epoch
  #reading: Promise<unknown> = Promise.resolve(); // of the chain, after an epoch
  #isClosing = false; // later epochs are not read
  #isWeightless = false; // reading weights failed before

  static async open(options: SwarmChainOptions): Promise<SwarmChain> {
    const folder = `${options.folder}/chain`;
    const path = `${folder}/chain.sqlite`;
    await Deno.mkdir(folder, { recursive: true });
    const isThere = await exists(path);
    const hyperparameters = { tempoBlocks, weightsRateLimitBlocks: 2 };
    const genesis = isThere ? null : localGenesis({ netuid, blockMs, startMs: systemTimers.nowMs(), hyperparameters });
    const payees = new Payees(await earlierNodes(options.folder));
    const ledger = LocalLedger.open({ path, genesis });
    try {
      const live = await serveLedger({ ledger, host: "127.0.0.1", port: 0 });
      return new SwarmChain(options, { ledger, live, payees });
    } catch (error) {
      ledger.close();
      throw error;
    }
  }

  private constructor(
    options: SwarmChainOptions,
    { ledger, live, payees }: { ledger: LocalLedger; live: LiveLedger; payees: Payees },
  ) {
    this.#payees = payees;
    this.#options = options;
    this.#ledger = ledger;
    this.#live = live;
    this.url = live.url;
    this.#chain = new LocalChain({ ledger, netuid });
    this.#pay = new SwarmPay(ledger, netuid);
    ledger.onBlock((block) => this.#onBlock(block));
    live.failed.catch((error) => options.onFailure(explained(error, options.folder)));
  }

  get place(): NamedChain {
    return { network: this.url, netuid };
  }

  get words(): readonly string[] {
    return chainWords(this.place);
  }

  /** Stakes for a validator. Never rejects. */
  enroll(node: Enrolled): Promise<void> {
    const begun = this.#enrolments.get(node.hotkey);
    if (begun !== undefined) return begun;
    this.#payees.enroll(node);
    this.#paidRao.set(node.hotkey, this.#pay.earnedRao(node.hotkey));
    const enrolment = this.#register(node).catch(this.#options.onFailure);
    this.#enrolments.set(node.hotkey, enrolment);
    return enrolment;
  }

  /** Resolves when an epoch has paid for the newest weights. */
  async paid(): Promise<void> {
    if (this.#weightsSet === 0 || this.#epochBlock > this.#weightsBlock) return;
    await new Promise<void>((resolve) => this.#awaiting.push(resolve));
  }

  /** Rao of alpha by hotkey; 0: never paid. */
  earned(role: Enrolled["role"]): Map<string, number> {
    const nodes = this.#payees.enrolled.filter((node) => node.role === role);
    return new Map(nodes.map(({ hotkey }) => [hotkey, Number(this.#pay.earnedRao(hotkey))]));
  }

  summary(): Record<string, unknown> {
    const emission: Emission[] = this.#payees.all.map(({ name, role, hotkey }) => ({
      ...{ hotkey, name, role },
      emissionRao: String(this.#pay.earnedRao(hotkey)),
    }));
    const burnedRao = String(this.#pay.burnedRao);
    return { chain: this.url, weightsSet: this.#weightsSet, epochs: this.#epochs, emission, burnedRao };
  }

  async close(): Promise<void> {
    for (const resolve of this.#awaiting.splice(0)) resolve();
    this.#isClosing = true;
    await this.#reading;
    await this.#chain.close();
    await this.#live.close();
    this.#ledger.close();
  }

  async #register({ name, role, hotkey }: Enrolled): Promise<void> {
    const say = () => {};
    const missing = await enrolOnDevelopmentChain(this.#chain, { hotkey, role, isPublic: false, say });
    if (missing !== null && missing !== awaitsPermit) this.#options.warn(`The chain does not pay ${name}: ${missing}`);
  }

  #onBlock({ number }: LocalBlock): void {
    this.#pay.onBlock(number);
    for (const event of this.#ledger.eventsOf(number)) this.#onEvent(event, number);
    const minersRao = this.#payees.enrolled.filter(({ role }) => role === "miner")
      .reduce((sum, { hotkey }) => sum + this.#pay.earnedRao(hotkey), 0n);
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
    this.#tellPay(block);
    if (this.#isClosing) return;
    this.#reading = this.#reading.then(async () => {
      await this.#noteOthers();
      await this.#keepWeights();
    }).catch(this.#options.onFailure);
  }

  async #keepWeights(): Promise<void> {
    const { folder, warn } = this.#options;
    try {
      await keepChainWeights(folder, await readChainWeights(this.#chain, systemTimers.nowMs()));
    } catch (error) {
      if (!this.#isWeightless) {
        warn(`The dashboard shows no new weights: ${error instanceof Error ? error.message : error}`);
      }
      this.#isWeightless = true;
    }
  }

  #tellPay(block: number): void {
    const paid = this.#payees.enrolled.map(({ hotkey }) => {
      const earnedRao = this.#pay.earnedRao(hotkey);
      const emissionRao = earnedRao - (this.#paidRao.get(hotkey) ?? 0n);
      this.#paidRao.set(hotkey, earnedRao);
      return { hotkey, emissionRao };
    });
    const emission = paid.filter(({ emissionRao }) => emissionRao > 0n)
      .map(({ hotkey, emissionRao }) => ({ hotkey, emissionRao: String(emissionRao) }));
    this.#options.onEvent({ type: "epochPaid", block, emission });
    if (this.#epochBlock > this.#weightsBlock) { for (const resolve of this.#awaiting.splice(0)) resolve(); }
  }

  /** Guests, and nodes of earlier starts. */
  async #noteOthers(): Promise<void> {
    const { ownerHotkey } = await this.#chain.parameters();
    for (const neuron of (await this.#chain.metagraph()).neurons) {
      if (neuron.hotkey !== ownerHotkey) this.#payees.note(neuron);
    }
  }
}

export function payLines(
  { emission, burnedRao }: { emission: readonly Emission[] | null; burnedRao: bigint },
  paint: Paint,
): string[] {
  if (emission === null || emission.length === 0) return [];
  const alpha = (rao: bigint) => `${(Number(rao / 1_000_000n) / 1_000).toFixed(3).padStart(10)} alpha`; // rao are billionths
  const rows = emission.map(({ name, hotkey, emissionRao }) =>
    `  ${name.padEnd(12)} ${paint.dim(shortAddress(hotkey))} ${alpha(BigInt(emissionRao))}`
  );
  const burned = burnedRao === 0n
    ? []
    : [`  ${"burned".padEnd(26)}${alpha(burnedRao)}, of hotkeys whose coldkey owns the subnet`];
  return [paint.dim("earned on the local chain, and in their stake"), ...rows, ...burned, ""];
}
