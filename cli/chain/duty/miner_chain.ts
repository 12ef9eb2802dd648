/**
 * Reports after every epoch whether a miner is registered, what it earned, and whether its place is safe. Reads only
 * when something can have changed, because public endpoints serve one request per second.
 */

import { type Chain, ChainError } from "../../../chain/chain.ts";
import { paidInLastEpoch } from "../../../chain/duty/epoch_pay.ts";
import { type MinerHealth, minerHealth, validatorSupport } from "../../../chain/duty/miner_health.ts";
import { nextEpochBlock } from "../../../chain/epochs/epochs.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { type CommandTo, nodeCommand, withWholeCommands } from "../text/chain_words.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { connectChain } from "./chain_link.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";

interface MinerChainOptions {
  readonly context: CommandContext;
  readonly hotkey: string;
  readonly onFailure: (error: unknown) => void;
}

const retryBlocks = 5; // after a failed read
const unregisteredBlocks = 5; // a newly registered miner wants to see it

export class MinerChain {
  readonly #options: MinerChainOptions;
  readonly #stop = new AbortController();
  #chain: Chain | null = null;
  #isBegun = false;
  #isLooking = false;
  #lookAtBlock = 0;
  #health: MinerHealth | null = null;
  #epochBlock: number | null = null; // the newest one whose pay was read
  #earnedRao = 0n; // since it connected

  constructor(options: MinerChainOptions) {
    this.#options = options;
  }

  /** Only the first chain counts. */
  begin({ network, netuid }: NamedChain): void {
    if (network === "none" || this.#isBegun) return;
    this.#isBegun = true;
    this.#connect({ network, netuid }).catch(this.#options.onFailure);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#chain?.close();
  }

  summary(): Record<string, unknown> {
    const health = this.#health;
    return {
      chain: this.#chain?.endpoint ?? null,
      uid: health?.uid ?? null,
      emissionRao: health === null ? null : String(health.emissionRao),
      earnedRao: health === null ? null : String(this.#earnedRao),
    };
  }

  async #connect({ network, netuid }: NamedChain): Promise<void> {
    const { output } = this.#options.context;
    const chain = await connectChain({
      ...{ network, netuid, timers: systemTimers, random: systemRandom, signal: this.#stop.signal },
      onProblem: (text) => output.log.warn(`Chain: ${text}`),
    });
    if (chain === null) return;
    this.#chain = chain;
    output.event({ type: "chainConnected", endpoint: chain.endpoint, netuid });
    output.line(`chain: subnet ${netuid} at ${chain.endpoint}`);
    const commandTo = nodeCommand({ network, netuid, hotkey: this.#options.hotkey });
    chain.onHead(({ block }) => {
      if (this.#isLooking || block < this.#lookAtBlock) return;
      this.#isLooking = true;
      this.#look(chain, { block, commandTo }).catch(this.#options.onFailure).finally(() => this.#isLooking = false);
    });
  }

  async #look(chain: Chain, { block, commandTo }: { block: number; commandTo: CommandTo }): Promise<void> {
    try {
      const [metagraph, parameters, epoch] = await Promise.all([
        chain.metagraph(),
        chain.parameters(),
        chain.epochState(),
      ]);
      const { hotkey } = this.#options;
      const own = metagraph.neurons.find((neuron) => neuron.hotkey === hotkey);
      const isUnpaid = own !== undefined && own.emissionRao === 0n;
      const paidRao = own === undefined ? 0n : await paidInLastEpoch(chain, { own, parameters, epoch });
      this.#count(paidRao ?? 0n, epoch.block - epoch.blocksSinceLastStep);
      const support = isUnpaid ? await validatorSupport(chain, { own, metagraph, parameters }) : null;
      const health = minerHealth({ hotkey, metagraph, parameters, paidRao, support });
      const epochBlock = nextEpochBlock(epoch) ?? block + parameters.tempoBlocks;
      this.#lookAtBlock = health.uid === null ? block + unregisteredBlocks : Math.max(epochBlock, block) + 1;
      this.#say(health, { block: metagraph.block, commandTo });
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (error.code === "closed") return;
      this.#lookAtBlock = block + retryBlocks;
      this.#options.context.output.log.warn(`Chain: ${error.message}`);
    }
  }

  /** An earlier process counted the epoch before the connection. */
  #count(paidRao: bigint, epochBlock: number): void {
    if (this.#epochBlock !== null && epochBlock > this.#epochBlock) this.#earnedRao += paidRao;
    this.#epochBlock = epochBlock;
  }

  #say(health: MinerHealth, { block, commandTo }: { block: number; commandTo: CommandTo }): void {
    const { output } = this.#options.context;
    const isNews = health.uid !== null || this.#health === null || this.#health.uid !== null;
    this.#health = health;
    if (!isNews) return;
    const { emissionRao, earnedRao, stakeRao, sentences: short, ...rest } = health;
    const sentences = short.map((text) => withWholeCommands(text, commandTo));
    const amounts = {
      emissionRao: String(emissionRao),
      earnedRao: earnedRao === null ? null : String(earnedRao),
      stakeRao: String(stakeRao),
    };
    output.event({ type: "chainHealth", block, ...rest, sentences, ...amounts });
    if (health.level === "alarm") output.log.warn(`Chain: ${sentences.join("; ")}`);
    else output.line(`chain: ${sentences.join("; ")}`);
  }
}
