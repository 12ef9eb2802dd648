/**
 * The embedded chain. A block is on disk and seen by listeners, or does not exist. `produceBlock`'s caller has the
 * clock; `submit`'s caller has checked the signature.
 */

import { assert, present } from "../../core/assert.ts";
import { beginBlock, beginChain } from "./block_step.ts";
import { palletOf, textOfCall } from "./calls/call_error.ts";
import { commitBytesMax } from "./calls/commit_reveal.ts";
import { canPay, dispatch, type Dispatched, preCheck } from "./calls/dispatch.ts";
import type { ChainEvent } from "./block/events.ts";
import type { Genesis, Hyperparameters } from "./block/genesis.ts";
import { hashBytes, hashOfHeader } from "./block/header.ts";
import type {
  AccountId,
  CallOutcome,
  Ledger,
  LedgerState,
  LocalBlock,
  LocalHeader,
  Submission,
} from "./block/ledger.ts";
import { OwnBeacon } from "./block/own_beacon.ts";
import { Pool, type PooledCall } from "./pool.ts";
import { runtimeApiAnswer } from "./reads/runtime_apis.ts";
import { storageItem } from "./reads/storage_items.ts";
import { changeRules } from "./state/neurons.ts";
import { ChainStore, type StoredBlock } from "./state/chain_store.ts";
import { keyOf } from "./state/records.ts";
import { type BlockScope, State } from "./state/state.ts";
import { quicknet } from "../timelock/beacon.ts";
import { isPulse } from "../timelock/pulse.ts";

interface OpenLedgerOptions {
  readonly path: string; // ":memory:" keeps nothing
  readonly genesis: Genesis | null; // null: the file's own
  readonly hearsQuicknet?: boolean; // through `learnPulse`; default false
}

interface BlockBody {
  readonly timestampMs: number;
  readonly outcomes: readonly CallOutcome[];
  readonly events: readonly ChainEvent[];
}

export class LocalLedger implements Ledger {
  readonly genesis: Genesis;
  readonly genesisHash: Uint8Array;
  readonly beacon: OwnBeacon;
  readonly state: State;
  readonly #store: ChainStore;
  readonly #learnt: LearntPulses | null;
  readonly #pool = new Pool();
  readonly #listeners = new Set<(block: LocalBlock) => void>();
  readonly #changes: { readonly netuid: number; readonly change: Partial<Hyperparameters> }[] = [];
  #head: StoredBlock;

  static open({ path, genesis, hearsQuicknet = false }: OpenLedgerOptions): LocalLedger {
    const store = ChainStore.open(path, genesis);
    try {
      return new LocalLedger(store, hearsQuicknet ? new LearntPulses() : null);
    } catch (error) {
      store.close();
      throw error;
    }
  }

  private constructor(store: ChainStore, learnt: LearntPulses | null) {
    this.#store = store;
    this.#learnt = learnt;
    this.genesis = store.genesis() as Genesis;
    this.beacon = new OwnBeacon(this.genesis);
    const recovered = store.recover();
    this.state = recovered?.state ?? new State();
    this.#head = recovered?.head ?? this.#firstBlock();
    this.genesisHash = present(this.blockHash(0), "A chain has a first block");
  }

  head(): LocalBlock {
    return localBlock(this.#head);
  }

  header(hash: Uint8Array): LocalHeader | null {
    return this.#store.blockByHash(hash)?.header ?? null;
  }

  blockHash(number: number): Uint8Array | null {
    return this.#store.blockByNumber(number)?.hash ?? null;
  }

  outcomesOf(number: number): readonly CallOutcome[] | null {
    const block = this.#store.blockByNumber(number);
    return block === null ? null : bodyOf(block).outcomes;
  }

  eventsOf(number: number): readonly ChainEvent[] {
    const block = this.#store.blockByNumber(number);
    if (block === null) return [];
    const { events, outcomes } = bodyOf(block);
    return [...events, ...outcomes.flatMap((outcome) => outcome.events)];
  }

  onBlock(listener: (block: LocalBlock) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  nonceOf(account: AccountId): number {
    const key = account.toHex();
    return this.#pool.nextNonce(key, this.state.read("account", key)?.nonce ?? 0);
  }

  submit(options: Parameters<Ledger["submit"]>[0]): Submission {
    const { nonce, call } = options;
    const from = options.from.toHex();
    const accountNonce = this.state.read("account", from)?.nonce ?? 0;
    const kind = this.#pool.nonceProblem({ from, nonce, accountNonce });
    if (kind !== null) return { status: "refused", kind, custom: null };
    const scope = this.#nextScope();
    if (!canPay(scope, from, call)) return { status: "refused", kind: "payment", custom: null };
    if (call.type === "commitTimelockedWeights" && call.commit.length > commitBytesMax) {
      return { status: "refused", kind: "custom", custom: 255 }; // BadRequest: no block could hold it
    }
    const custom = this.genesis.preChecks === "pool" ? preCheck(scope, from, call) : null;
    if (custom !== null) return { status: "refused", kind: "custom", custom };
    return { status: "accepted", submission: this.#pool.add({ from, nonce, call }) };
  }

  /** Opens weights sealed to quicknet, from the next block on. False: invalid. */
  learnPulse(pulse: { readonly round: bigint; readonly signature: Uint8Array }): boolean {
    return this.#learnt?.learn(pulse) ?? false;
  }

  /** As an extrinsic of the owner or root, from the next block on. */
  setHyperparameters(netuid: number, change: Partial<Hyperparameters>): void {
    assert(
      this.state.read("subnet", keyOf(netuid)) !== undefined,
      `Cannot set hyperparameters as the subnet must exist: current value is ${netuid}`,
    );
    this.#changes.push({ netuid, change });
  }

  /** Time never goes back: if the clock does, the block is a millisecond after the last one. */
  produceBlock(nowMs: number): LocalBlock {
    const timestampMs = Math.max(Math.floor(nowMs), bodyOf(this.#head).timestampMs + 1);
    const calls = this.#pool.take();
    try {
      const events: ChainEvent[] = [];
      const scope = this.#scope({ timestampMs, emit: (event) => events.push(event) });
      beginBlock(scope, timestampMs);
      for (const { netuid, change } of this.#changes) changeRules(scope, netuid, change);
      const outcomes = calls.map((pooled) => outcomeOf(pooled, dispatch(scope, pooled.from, pooled.call)));
      this.#head = this.#seal({ timestampMs, outcomes, events }, calls);
    } catch (error) {
      this.state.discard();
      this.#pool.giveBack(calls);
      throw error;
    }
    this.#changes.length = 0;
    const block = localBlock(this.#head);
    for (const listener of [...this.#listeners]) listener(block);
    return block;
  }

  storage(name: string, keys: readonly unknown[]): unknown {
    return storageItem(this, name, keys);
  }

  runtimeApi(name: string, args: readonly unknown[]): unknown {
    return runtimeApiAnswer(this, name, args);
  }

  at(block: number): LedgerState | null {
    const state = this.state.past(this.#head.header.number - block);
    const past = this.#store.blockByNumber(block);
    if (state === null || past === null) return null;
    const { genesis, beacon } = this;
    const chain = {
      state,
      genesis,
      beacon,
      head: () => localBlock(past),
      blockHash: (number: number) => this.blockHash(number),
    };
    return {
      storage: (name, keys) => storageItem(chain, name, keys),
      runtimeApi: (name, args) => runtimeApiAnswer(chain, name, args),
    };
  }

  #nextScope(): BlockScope {
    return this.#scope({ timestampMs: bodyOf(this.#head).timestampMs, emit: () => {} });
  }

  close(): void {
    this.#listeners.clear();
    this.#store.close();
  }

  #scope(of: { readonly timestampMs: number; readonly emit: BlockScope["emit"] }): BlockScope {
    const lastRound = this.beacon.lastRound(of.timestampMs);
    const { state, genesis, beacon } = this;
    return {
      ...{ state, genesis, lastRound, emit: of.emit },
      block: this.#head.header.number + 1,
      pulses: (round) => round <= lastRound ? [beacon.pulse(round), ...this.#learnt?.of(round) ?? []] : [],
      awaitsPulse: (round) => this.#learnt?.of(round).length === 0,
    };
  }

  #seal(body: BlockBody, calls: readonly PooledCall[], parent: StoredBlock | null = this.#head): StoredBlock {
    const { changes, root } = this.state.prepare();
    const header: LocalHeader = {
      parentHash: parent?.hash ?? new Uint8Array(32),
      number: (parent?.header.number ?? -1) + 1,
      stateRoot: root,
      extrinsicsRoot: hashBytes(new TextEncoder().encode(calls.map(lineOfCall).join("\n"))),
    };
    const block = { header, hash: hashOfHeader(header), body };
    this.#store.append(block, changes);
    this.state.commit(changes);
    return block;
  }

  #firstBlock(): StoredBlock {
    const { state, genesis } = this;
    const events: ChainEvent[] = [];
    const emit = (event: ChainEvent) => events.push(event);
    beginChain({ state, genesis, block: 0, lastRound: 0n, pulses: () => [], awaitsPulse: () => false, emit });
    return this.#seal({ timestampMs: genesis.startMs, outcomes: [], events }, [], null);
  }
}

function bodyOf(block: StoredBlock): BlockBody {
  const { outcomes, ...rest } = block.body as BlockBody; // earlier versions kept no events of calls
  return { ...rest, outcomes: outcomes.map((outcome) => ({ ...outcome, events: outcome.events ?? [] })) };
}

function localBlock(block: StoredBlock): LocalBlock {
  const { hash, header: { number, parentHash } } = block;
  return { number, hash, parentHash, ...bodyOf(block) };
}

const outcomeOf = ({ submission }: PooledCall, { error, events }: Dispatched): CallOutcome => ({
  submission,
  error: error === null ? null : { pallet: palletOf(error), name: error },
  events,
});

const lineOfCall = ({ from, nonce, call }: PooledCall): string => `${from} ${nonce} ${textOfCall(call)}`;

/** Verified, for weights sealed to quicknet, in memory only: after a restart, needed ones are submitted again. */
const pulsesMax = 1_000; // few: only rounds that commits name

class LearntPulses {
  readonly #pulses = new Map<bigint, Uint8Array>();

  learn(pulse: { readonly round: bigint; readonly signature: Uint8Array }): boolean {
    if (!isPulse(quicknet, pulse)) return false;
    if (this.#pulses.size >= pulsesMax) this.#pulses.clear();
    this.#pulses.set(pulse.round, pulse.signature);
    return true;
  }

  of(round: bigint): readonly Uint8Array[] {
    const pulse = this.#pulses.get(round);
    return pulse === undefined ? [] : [pulse];
  }
}
