/**
 * A validator's weights all the way: keeper, client, fault proxies, node and ledger, block by block in virtual time.
 *
 * Owns: the validator's lives (connected, killed, opened again from its folder), the chain's blocks, and when a block is over: when
 * whatever it caused has happened, sockets included. Nothing sleeps and nothing is polled: timers and proxies tell of every change.
 */

import "../../../chain/duty/sealed_call.ts"; // loaded now, so that sealing takes no turn of the event loop
import type { ChainCall } from "../../../chain/call.ts";
import type { Chain } from "../../../chain/chain.ts";
import type { DutyRecord } from "../../../chain/duty/duty.ts";
import { type GenesisOptions } from "../../../chain/local/block/genesis.ts";
import type { LedgerCall, LocalBlock } from "../../../chain/local/block/ledger.ts";
import type { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { uidOf } from "../../../chain/local/state/neurons.ts";
import { keyOf } from "../../../chain/local/state/records.ts";
import "../../../chain/subtensor/subtensor_chain.ts";
import { hotkeyOfMiniSecret, type HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { connectKnownChain } from "../../../cli/chain/duty/chain_link.ts";
import { DutyFolder } from "../../../cli/chain/duty/duty_folder.ts";
import { WeightKeeper } from "../../../cli/chain/duty/weight_keeper.ts";
import type { ChainFaultProxy } from "./chain_fault_proxy.ts";
import { FaultWorld, netuid, payer } from "./chain_fault_world.ts";
import { idle } from "../idle.ts";
import { countingRandom } from "../net/manual_timers.ts";
import { QuietTimers } from "./quiet_timers.ts";

export const blockMs = 12_000;
export const ourVersionKey = 3n;
export const validator: HotkeyPair = hotkeyOfMiniSecret(new Uint8Array(32).fill(4));
const callDeadlineMs = 15_000, headSilenceMs = 75_000; // the client's defaults
const random = { bytes: countingRandom().bytes, unit: () => 0.5 };

/** From its start until it is killed. */
interface Life {
  readonly stop: AbortController;
  chain: Chain | null; // null: not connected yet
  keeper: WeightKeeper | null;
  seenBlock: number;
}

/** A call of ours that has reached the chain. */
export interface OwnCall {
  readonly call: LedgerCall;
  error: string | null; // of its block
}

const firstRedialMs = 500;

export class WeightPathWorld {
  readonly records: DutyRecord[] = [];
  readonly warnings: string[] = [];
  failure: unknown = null;
  /** Before our next call reaches the pool, another program of ours takes its nonce. */
  isRivalNext = false;
  readonly #folder: string;
  readonly #timers: QuietTimers;
  readonly #submitted = new Map<number, OwnCall>(); // those in the pool
  #faults!: FaultWorld; // set by open
  #life: Life | null = null;
  #newest: { round: number; byHotkey: Record<string, number> } | null = null;
  readonly #closings: Promise<void>[] = []; // of earlier lives
  #dueBlock = 0; // the client must receive it
  #changed = Promise.withResolvers<void>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#timers = new QuietTimers({ callDeadlineMs, headSilenceMs, onChange: () => this.#change() });
    this.#timers.swiftMs = firstRedialMs; // a later attempt waits for the next block, or an outage would never end
  }

  static async open(folder: string, genesis: GenesisOptions): Promise<WeightPathWorld> {
    const world = new WeightPathWorld(folder);
    const startMs = world.#timers.nowMs(); // the chain's clock and the client's are one
    world.#faults = await FaultWorld.open({
      proxies: 2,
      timers: world.#timers,
      genesis: { ...genesis, blockMs, startMs },
    });
    for (const proxy of world.proxies) world.#follow(proxy);
    world.#watchPool();
    return world;
  }

  get ledger(): LocalLedger {
    return this.#faults.ledger;
  }

  get proxies(): readonly ChainFaultProxy[] {
    return this.#faults.proxies;
  }

  get isAlive(): boolean {
    return this.#life !== null;
  }

  get isConnected(): boolean {
    return this.#life !== null && this.#life.keeper !== null;
  }

  /** A call of ours waits for the next block. */
  get isCallInPool(): boolean {
    return this.#submitted.size > 0;
  }

  health(): string {
    return this.#life?.keeper?.health().sentences.join("; ") ?? "not connected";
  }

  upgrade(options: { isTold: boolean }): void {
    this.#faults.upgrade(options);
  }

  /** Our newest call is on its way, as far as the validator knows, and not in the pool. */
  get isCallOpen(): boolean {
    const last = this.records.findLast(({ type }) => type !== "rowChecked" && type !== "rowMissing");
    return last !== undefined && (last.type === "sent" || last.type === "unanswered") && !this.isCallInPool;
  }

  /** What the chain's root would do: both count for the whole chain, so the ledger has them from its genesis. */
  setStakeThreshold(stakeThresholdRao: bigint): void {
    Object.assign(this.ledger.genesis, { stakeThresholdRao });
  }

  setCommitRevealVersion(commitRevealVersion: number): void {
    Object.assign(this.ledger.genesis, { commitRevealVersion });
  }

  /** What a coldkey sends past all faults. */
  pay(call: ChainCall): void {
    const from = payer.publicKey;
    this.ledger.submit({ from, nonce: this.ledger.nonceOf(from), call });
  }

  register(hotkey: string): void {
    this.pay({ type: "burnedRegister", netuid, hotkey });
  }

  /** Scores for the validator's newest life, or the next one. */
  score(round: number, byHotkey: Record<string, number>): void {
    this.#newest = { round, byHotkey };
    this.#life?.keeper?.scored(round, byHotkey);
  }

  start(): void {
    const life: Life = { stop: new AbortController(), chain: null, keeper: null, seenBlock: 0 };
    this.#life = life;
    connectKnownChain({
      ...{ network: this.proxies.map(({ url }) => url).join(","), netuid, timers: this.#timers, random },
      ...{ signal: life.stop.signal, onProblem: () => {} },
    }).then((connected) => {
      if (connected === null) return;
      const { chain, facts } = connected;
      life.chain = chain;
      const folder = new DutyFolder({
        ...{ folder: this.#folder, genesisHash: facts.genesisHash, warn: (text) => this.warnings.push(text) },
      });
      life.keeper = new WeightKeeper({
        ...{ chain, facts, signer: validator, versionKey: ourVersionKey, folder, timers: this.#timers, random },
        onRecord: (record) => this.records.push(record),
        onHealth: () => {},
      });
      life.keeper.failed.catch((error) => this.#fail(error));
      if (this.#newest !== null) life.keeper.scored(this.#newest.round, this.#newest.byHotkey);
      const saw = ({ block }: { block: number }) => {
        life.seenBlock = block;
        this.#change();
      };
      chain.onHead(saw);
      this.#change();
    }).catch((error) => this.#fail(error));
  }

  /** Ends the process: what it has not saved is lost. */
  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    life?.stop.abort();
    if (life?.keeper) this.#closings.push(life.keeper.close()); // a handshake without an answer holds it up until its deadline
    await this.#quiet();
  }

  /** A block later everything it leads to has happened. */
  async block(): Promise<{ block: LocalBlock; calls: readonly OwnCall[] }> {
    this.#timers.advance(blockMs);
    await this.#quiet();
    this.#dueBlock = this.#isHearing ? this.ledger.head().number + 1 : 0;
    const block = this.ledger.produceBlock(this.#timers.nowMs());
    const calls = block.outcomes.flatMap(({ submission, error }) => {
      const own = this.#submitted.get(submission);
      if (own === undefined) return [];
      own.error = error?.name ?? null;
      return [own];
    });
    this.#submitted.clear();
    await this.#quiet();
    this.#dueBlock = 0;
    if (this.failure !== null) throw this.failure;
    return { block, calls };
  }

  uid(): number | null {
    return uidOf(this.ledger.state, netuid, validator.publicKey.toHex());
  }

  row(): readonly (readonly [uid: number, value: number])[] {
    const uid = this.uid();
    return uid === null ? [] : this.ledger.state.read("weights", keyOf(netuid, uid)) ?? [];
  }

  async close(): Promise<void> {
    for (const proxy of this.proxies) proxy.heal();
    this.#life?.stop.abort();
    for (const proxy of this.proxies) proxy.cut();
    await this.#life?.keeper?.close();
    await Promise.all(this.#closings);
    await this.#faults.close();
  }

  /** What the block, or a fault, has set off has come to its end; what remains waits for time to pass. */
  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 2;) {
      await idle();
      if (this.failure !== null) return;
      calm = this.#isQuiet ? calm + 1 : 0;
      // A socket that the client has just given up would pass for the one that it is opening.
      if (calm === 1 && this.#timers.callsUnderWay > 0) await Promise.all(this.proxies.map((proxy) => proxy.pinged()));
      if (calm > 0) continue;
      await this.#changed.promise;
    }
  }

  get #isQuiet(): boolean {
    const { callsUnderWay, sessions } = this.#timers;
    const sum = (of: (proxy: ChainFaultProxy) => number) => this.proxies.reduce((all, proxy) => all + of(proxy), 0);
    if (callsUnderWay !== sum(({ unanswered }) => unanswered)) return false;
    if (callsUnderWay === 0 && sessions !== sum(({ openConnections }) => openConnections)) return false;
    return !this.#isHearing || (this.#life?.seenBlock ?? 0) >= this.#dueBlock;
  }

  /** The client is on a connection that passes heads on. */
  get #isHearing(): boolean {
    if (!this.isConnected || this.#timers.sessions === 0) return false;
    return this.proxies.some(({ openConnections, isSilent, hidesHeads }) =>
      openConnections > 0 && !isSilent && !hidesHeads
    );
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #fail(error: unknown): void {
    this.failure ??= error;
    this.#change();
  }

  #follow(proxy: ChainFaultProxy): void {
    proxy.seen("message").then(() => {
      this.#change();
      this.#follow(proxy);
    });
  }

  #watchPool(): void {
    const { ledger } = this;
    const submit = ledger.submit.bind(ledger);
    const own = validator.publicKey.toHex();
    ledger.submit = (options) => {
      if (options.from.toHex() !== own) return submit(options);
      if (this.isRivalNext) {
        this.isRivalNext = false;
        const axon = { ip: "203.0.113.7", port: 8_091, protocol: 4, version: 1 };
        submit({ ...options, call: { type: "serveAxon", netuid, axon } });
      }
      const submission = submit(options);
      if (submission.status === "accepted") {
        this.#submitted.set(submission.submission, { call: options.call, error: null });
      }
      return submission;
    };
  }
}
