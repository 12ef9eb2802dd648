/**
 * A validator's duty on the chain: keeps its weights there and reports its status. The validator's work never waits for
 * it, but a finished run still sends its last scores.
 */

import type { DutyRecord } from "../../../chain/duty/duty.ts";
import type { DutyHealth } from "../../../chain/duty/health.ts";
import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import type { ChainConfig } from "../../../core/config/config.ts";
import { type MinerScore, roundsUntilDue } from "../../../core/score/work_score.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { type CommandTo, nodeCommand, withWholeCommands } from "../text/chain_words.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { connectKnownChain } from "./chain_link.ts";
import { DutyFolder } from "./duty_folder.ts";
import { WeightKeeper } from "./weight_keeper.ts";
import { unreachable } from "../../../core/assert.ts";

interface Newest {
  readonly round: number;
  readonly byHotkey: Readonly<Record<string, number>>;
}

interface ValidatorChainOptions {
  readonly context: CommandContext;
  readonly signer: HotkeyPair;
  readonly versionKey: bigint;
  readonly onFailure: (error: unknown) => void;
}

const connectingMs = 30_000; // for a chain that has never answered, once the run is finished

export class ValidatorChain {
  readonly #options: ValidatorChainOptions;
  readonly #stop = new AbortController();
  #keeper: WeightKeeper | null = null;
  #connected: Promise<void> | null = null;
  #endpoint: string | null = null;
  #newest: Newest | null = null;
  #isWaitSaid = false;
  #outage: string | null = null;
  #tally = { weightsSet: 0, weightsRevealed: 0, weightsChecked: 0, weightsMissing: 0 };

  constructor(options: ValidatorChainOptions) {
    this.#options = options;
  }

  /** Only the first chain counts. */
  begin({ network, netuid }: Pick<ChainConfig, "network" | "netuid">): void {
    if (network === "none" || this.#connected !== null) return;
    this.#connected = this.#connect({ network, netuid });
    this.#connected.catch(this.#options.onFailure);
  }

  scored(round: number, scores: readonly MinerScore[], isAnyDue: boolean): void {
    if (!isAnyDue) return this.#sayNothingIsDue();
    const byHotkey = Object.fromEntries(scores.map(({ miner, score }) => [miner, score]));
    this.#newest = { round, byHotkey };
    this.#keeper?.scored(round, byHotkey);
  }

  /** Until a round has vested there is nothing to set. */
  #sayNothingIsDue(): void {
    if (this.#isWaitSaid || this.#connected === null) return;
    this.#isWaitSaid = true;
    this.#options.context.output.line(
      `weights: none yet, as work counts ${roundsUntilDue} rounds after it was done, or when the run ends`,
    );
  }

  /** A finished run waits until its last scores land, or an interruption. */
  async end({ isFinished, interruption }: { isFinished: boolean; interruption: AbortSignal }): Promise<void> {
    if (this.#connected === null) return;
    if (isFinished && this.#newest !== null && !interruption.aborted) await this.#lastWeights(interruption);
    this.#stop.abort();
    await this.#keeper?.close();
  }

  summary(): Record<string, unknown> {
    if (this.#connected === null) return { chain: null };
    const health = this.#keeper?.health() ?? null;
    const chainHealth = this.#outage === null ? health?.level ?? "alarm" : "alarm";
    return { chain: this.#endpoint, ...this.#tally, chainHealth };
  }

  async #connect({ network, netuid }: Pick<ChainConfig, "network" | "netuid">): Promise<void> {
    const { context, signer, versionKey, onFailure } = this.#options;
    const { log } = context.output;
    const connected = await connectKnownChain({
      ...{ network, netuid, timers: systemTimers, random: systemRandom, signal: this.#stop.signal },
      onProblem: (text) => log.warn(`Chain: ${text}`),
      onOutage: (problem) => this.#onOutage(problem),
    });
    if (connected === null) return;
    const { chain, facts } = connected;
    this.#endpoint = chain.endpoint;
    context.output.event({ type: "chainConnected", endpoint: chain.endpoint, netuid, genesisHash: facts.genesisHash });
    context.output.line(`chain: subnet ${netuid} at ${chain.endpoint}`);
    const folder = new DutyFolder({
      folder: `${context.dataFolder()}/chain`,
      genesisHash: facts.genesisHash,
      warn: (text) => log.warn(text),
    });
    const commandTo = nodeCommand({ network, netuid, hotkey: signer.address });
    const keeper = new WeightKeeper({
      ...{ chain, facts, signer, versionKey, folder, timers: systemTimers, random: systemRandom },
      onRecord: (record) => this.#onRecord(record, commandTo),
      onHealth: (health, block) => this.#onHealth(health, { block, commandTo }),
    });
    keeper.failed.catch(onFailure);
    this.#keeper = keeper;
    if (this.#newest !== null) keeper.scored(this.#newest.round, this.#newest.byHotkey);
  }

  async #lastWeights(interruption: AbortSignal): Promise<void> {
    const interrupted = Promise.withResolvers<void>();
    const onAbort = () => interrupted.resolve();
    interruption.addEventListener("abort", onAbort);
    const cancel = systemTimers.after(connectingMs, () => this.#keeper === null && interrupted.resolve());
    this.#options.context.output.line("the run is over; sending its last weights (Ctrl-C exits at once)");
    const settled = Promise.resolve(this.#connected).then(() => this.#keeper?.settled());
    await Promise.race([settled, interrupted.promise]);
    cancel();
    interruption.removeEventListener("abort", onAbort);
  }

  #onRecord(record: DutyRecord, commandTo: CommandTo): void {
    const { output } = this.#options.context;
    if (record.type === "landed") this.#tally[record.purpose === "set" ? "weightsSet" : "weightsRevealed"] += 1;
    if (record.type === "lost" && record.undoneBlock !== null) {
      this.#tally[record.purpose === "set" ? "weightsSet" : "weightsRevealed"] -= 1;
    }
    if (record.type === "rowChecked") this.#tally.weightsChecked += 1;
    if (record.type === "rowMissing") this.#tally.weightsMissing += 1;
    output.event({ ...record, type: `weights${record.type[0]!.toUpperCase()}${record.type.slice(1)}` });
    output.line(withWholeCommands(dutyLine(record), commandTo));
  }

  #onOutage(problem: string | null): void {
    const { output } = this.#options.context;
    this.#outage = problem;
    if (problem === null) return output.line("chain: reachable again");
    const sentence = `the chain cannot be read: ${problem}; retrying`;
    output.event({ type: "chainHealth", level: "alarm", sentences: [sentence] });
    output.log.warn(`Chain: ${sentence}`);
  }

  #onHealth(health: DutyHealth, { block, commandTo }: { block: number; commandTo: CommandTo }): void {
    const { output } = this.#options.context;
    const { level } = health;
    const sentences = health.sentences.map((text) => withWholeCommands(text, commandTo));
    output.event({ type: "chainHealth", block, level, sentences });
    if (level === "alarm") output.log.warn(`Chain: ${sentences.join("; ")}`);
    else for (const line of healthLines(sentences)) output.line(line);
  }
}

export function dutyLine(record: DutyRecord): string {
  switch (record.type) {
    case "sent":
      return record.purpose === "reveal"
        ? "weights: revealing"
        : `weights: sending ${record.weights}${record.mode === "plain" ? "" : `, ${record.mode} until their reveal`}`;
    case "landed":
      return `weights: ${record.purpose === "set" ? "landed" : "revealed"} in block ${record.block}, not final yet`;
    case "refused":
      return `weights: refused (${record.refusal.name}): ${record.refusal.sentence}; ${record.refusal.action}`;
    case "unanswered":
      return `weights: no answer (${record.why}); checking on the chain whether they landed`;
    case "lost":
      return record.undoneBlock === null
        ? `weights: ${record.purpose === "set" ? "the call" : "the reveal"} did not land and can no longer do so`
        : `weights: a fork of the chain removed block ${record.undoneBlock} with ${
          record.purpose === "set" ? "the weights" : "the reveal"
        }; they are sent again`;
    case "rowChecked":
      return `weights: those of block ${record.landedBlock} are in force, in a final block`;
    case "rowMissing":
      return `weights: those of block ${record.landedBlock} did not take effect: ${record.why}`;
    default:
      return unreachable(record);
  }
}

/** Only what comes next; the last event had its own line. */
const healthLines = (sentences: readonly string[]): readonly string[] =>
  sentences.slice(0, 1).map((text) => `chain: ${text}`);
