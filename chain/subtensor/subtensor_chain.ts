/** `Chain` over any Subtensor endpoint, one read per block. Imported lazily: polkadot-js loads for a quarter second. */

import type { Address, ChainCall, ChainSigner } from "../call.ts";
import type {
  Chain,
  ChainFacts,
  Commitment,
  EpochState,
  Head,
  Metagraph,
  PendingCommit,
  Receipt,
  SubnetParameters,
  WeightCallSearch,
} from "../chain.ts";
import { readAccount, readAlpha, readAxon, readUid } from "./reads/accounts.ts";
import { axonFrom, axonProblem } from "./reads/axon_address.ts";
import { readCommitments } from "./reads/commitments.ts";
import { Connection, type ConnectionOptions } from "./connection/connection.ts";
import type { Endpoints } from "./connection/endpoints.ts";
import { readFacts, readMetagraph } from "./reads/metagraph.ts";
import { readEpochState, readIsStarted, readParameters } from "./reads/parameters.ts";
import { FinalitySearch, finalizedHead, type SeenCall } from "./sending/finality.ts";
import { axonRefusal } from "./sending/refusals.ts";
import { Sender } from "./sending/sender.ts";
import type { Session } from "./connection/session.ts";
import { needed, readAtHead, type StateAt } from "./connection/state.ts";
import type { Dice, Timers } from "./connection/timers.ts";
import { findWeightCalls, readPendingCommits, readWeights } from "./reads/weights.ts";
import { integer } from "./connection/plain_values.ts";

export interface SubtensorOptions {
  readonly endpoints: Endpoints;
  readonly netuid: number;
  readonly timers: Timers;
  readonly dice: Dice;
  readonly callDeadlineMs?: number; // default 15,000
  readonly headSilenceMs?: number; // default 75,000
  readonly keepaliveMs?: number; // default 25,000
  readonly patienceMs?: number; // for a node to come back; default 60,000
  readonly inclusionWaitMs?: number; // default 180,000: 15 blocks
  readonly socketOptions?: ConnectionOptions["socketOptions"];
}

export class SubtensorChain implements Chain {
  readonly netuid: number;
  readonly #connection: Connection;
  readonly #sender: Sender;
  readonly #isPublic: boolean;
  readonly #openArchive: () => Promise<Connection | null>;
  #archive: Promise<Connection | null> | null = null;

  private constructor(connection: Connection, options: SubtensorOptions & { connecting: ConnectionOptions }) {
    const { netuid, timers, endpoints: { archiveUrls }, connecting, inclusionWaitMs = 180_000 } = options;
    this.netuid = netuid;
    this.#connection = connection;
    this.#isPublic = options.endpoints.isPublic;
    this.#openArchive = () =>
      archiveUrls.length === 0 ? Promise.resolve(null) : Connection.open({ ...connecting, urls: archiveUrls });
    this.#sender = new Sender({ connection, timers, inclusionWaitMs, archive: () => this.#archived() });
  }

  static async connect(options: SubtensorOptions): Promise<SubtensorChain> {
    const { callDeadlineMs = 15_000, headSilenceMs = 75_000, keepaliveMs = 25_000, patienceMs = 60_000 } = options;
    const { endpoints: { urls, isPublic }, timers, dice, socketOptions } = options;
    const limits = { callDeadlineMs, headSilenceMs, keepaliveMs, patienceMs };
    const connecting = { urls, isPublic, timers, dice, socketOptions, ...limits };
    return new SubtensorChain(await Connection.open(connecting), { ...options, connecting });
  }

  get endpoint(): string {
    return this.#connection.url;
  }

  facts(): Promise<ChainFacts> {
    const isPublic = this.#isPublic;
    return this.#connection.run((session) =>
      session.cached(
        "facts",
        () => readAtHead(session, (state) => readFacts(state, { genesisHash: session.genesisHash, isPublic })),
      )
    );
  }

  async head(): Promise<Head> {
    const { head, seenMs } = await this.#connection.ready();
    return { block: head.number, seenMs };
  }

  async finalizedBlock(): Promise<number> {
    const read = (session: Session) => session.cached("finalized", () => finalizedHead(session));
    return (await this.#connection.run(read)).number;
  }

  finalityOf(seen: SeenCall): FinalitySearch {
    return new FinalitySearch({ connection: this.#connection, archive: () => this.#archived(), seen });
  }

  onHead(listener: (head: Head) => void): () => void {
    return this.#connection.onHead(listener);
  }

  metagraph(): Promise<Metagraph> {
    return this.#read("metagraph", (state) => readMetagraph(state, this.netuid));
  }

  parameters(): Promise<SubnetParameters> {
    return this.#read("parameters", (state) => readParameters(state, this.netuid));
  }

  epochState(): Promise<EpochState> {
    return this.#read("epochState", (state) => readEpochState(state, this.netuid));
  }

  weightsOf(of: { uid: number; mechanism: number }): Promise<readonly { uid: number; value: number }[]> {
    const name = `weights ${of.uid} ${of.mechanism}`;
    return this.#read(name, (state) => readWeights(state, { ...of, netuid: this.netuid }));
  }

  pendingCommits(of: { hotkey: Address; mechanism: number }): Promise<readonly PendingCommit[]> {
    const name = `commits ${of.hotkey} ${of.mechanism}`;
    return this.#read(name, (state) => readPendingCommits(state, { ...of, netuid: this.netuid }));
  }

  weightCallsOf(search: WeightCallSearch): Promise<readonly number[] | null> {
    return findWeightCalls(this.#connection, { ...search, netuid: this.netuid });
  }

  commitmentsOf(hotkeys: readonly Address[]): Promise<readonly Commitment[]> {
    const name = `commitments ${hotkeys.join(" ")}`;
    return this.#read(name, (state) => readCommitments(state, { netuid: this.netuid, hotkeys }));
  }

  async balanceOf(address: Address): Promise<bigint> {
    return (await this.#read(`account ${address}`, (state) => readAccount(state, address))).freeRao;
  }

  alphaOf(of: { hotkey: Address; block: number }): Promise<bigint | null> {
    return this.#connection.run((session) => readAlpha(session, { ...of, netuid: this.netuid }));
  }

  /** Null: not registered. */
  uidOf(hotkey: Address): Promise<number | null> {
    return this.#read(`uid ${hotkey}`, (state) => readUid(state, { netuid: this.netuid, hotkey }));
  }

  async announcementBlockOf(hotkey: Address): Promise<number | null> {
    const of = { netuid: this.netuid, hotkey };
    return (await this.#read(`axon ${of.netuid} ${hotkey}`, (state) => readAxon(state, of)))?.block ?? null;
  }

  /** Until then the subnet accepts no stake. */
  isStarted(): Promise<boolean> {
    return this.#read("isStarted", (state) => readIsStarted(state, this.netuid));
  }

  /** Null: reachable again. Returns a function that stops. */
  onOutage(listener: (problem: string | null) => void): () => void {
    return this.#connection.onOutage(listener);
  }

  /** Shows if an endpoint has fallen behind. */
  blockTime(): Promise<{ block: number; timeMs: number }> {
    return this.#read("blockTime", readBlockTime);
  }

  async send(call: ChainCall, signer: ChainSigner): Promise<Receipt> {
    return await this.#withoutSending(call, signer) ?? await this.#sender.send(call, signer);
  }

  async close(): Promise<void> {
    const archive = await this.#archive?.catch(() => null);
    await archive?.close();
    await this.#connection.close();
  }

  /** Announcements block the next one for 50 blocks, so hopeless and repeated ones are not sent. */
  async #withoutSending(call: ChainCall, signer: ChainSigner): Promise<Receipt | null> {
    if (call.type !== "serveAxon") return null;
    const problem = axonProblem(call.axon);
    if (problem !== null) return { status: "refused", refusal: axonRefusal(problem) };
    const of = { netuid: call.netuid, hotkey: signer.address };
    const stored = await this.#read(`axon ${of.netuid} ${of.hotkey}`, (state) => readAxon(state, of));
    const axon = stored === null ? null : axonFrom(stored);
    const fields = ["ip", "port", "protocol", "version"] as const;
    if (stored === null || axon === null || fields.some((name) => axon[name] !== call.axon[name])) return null;
    return { status: "included", block: stored.block, extrinsicHash: "", isUnchanged: true };
  }

  #read<T>(name: string, work: (state: StateAt) => Promise<T>): Promise<T> {
    return this.#connection.run((session) => session.cached(name, () => readAtHead(session, work)));
  }

  #archived(): Promise<Connection | null> {
    this.#archive ??= this.#openArchive().catch((error) => {
      this.#archive = null;
      throw error;
    });
    return this.#archive;
  }
}

async function readBlockTime(state: StateAt): Promise<{ block: number; timeMs: number }> {
  const { now } = await state.read({
    now: { pallet: "Timestamp", name: "Now", keys: [], schema: integer, isRawWithoutMetadata: false },
  });
  return { block: state.block.number, timeMs: needed(now, "Timestamp.Now") };
}
