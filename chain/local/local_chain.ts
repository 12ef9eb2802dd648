/**
 * The embedded chain behind the roles' interface. Signatures are checked, so a signer that fails on a real chain fails
 * here. A call in no block by the deadline is "unknown": it may still land.
 */

import { assert } from "../../core/assert.ts";
import type { Address, ChainCall, ChainSigner } from "../call.ts";
import {
  type Chain,
  ChainError,
  type ChainFacts,
  type Commitment,
  type EpochState,
  type Head,
  type Metagraph,
  type Neuron,
  type PendingCommit,
  type Receipt,
  type Refusal,
  type SubnetParameters,
  type WeightCallSearch,
} from "../chain.ts";
import { dispatchRefusal, poolRefusal } from "../subtensor/sending/refusals.ts";
import { verifySignature } from "../wallet/hotkey.ts";
import { storageIndex } from "../weights/salted_commit.ts";
import { textOfCall } from "./calls/call_error.ts";
import { hashBytes } from "./block/header.ts";
import type { ChainEvent } from "./block/events.ts";
import type { LocalBlock, Submission } from "./block/ledger.ts";
import type { LocalLedger } from "./local_ledger.ts";
import { commitmentOf } from "./reads/commitments.ts";
import { epochStateOf, parametersOf } from "./reads/readable_chain.ts";
import { pendingCommitsOf } from "./reads/pending_commits.ts";
import { neuronsOf, uidOf } from "./state/neurons.ts";
import { accountOf, addressOf, keyOf } from "./state/records.ts";

interface LocalChainOptions {
  readonly ledger: LocalLedger;
  readonly netuid: number;
  readonly deadlineMs?: number;
}

interface Waiting {
  readonly settle: (receipt: Receipt) => void;
  readonly call: ChainCall["type"];
  readonly extrinsicHash: string;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class LocalChain implements Chain {
  readonly endpoint = "local";
  readonly netuid: number;
  readonly #ledger: LocalLedger;
  readonly #deadlineMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #stops = new Set<() => void>();
  #isClosed = false;

  constructor({ ledger, netuid, deadlineMs = 60_000 }: LocalChainOptions) {
    assert(deadlineMs > 0, `Cannot wait for blocks as 'deadlineMs' must be positive: current value is ${deadlineMs}`);
    this.#ledger = ledger;
    this.netuid = netuid;
    this.#deadlineMs = deadlineMs;
    this.#stops.add(ledger.onBlock((block) => this.#settle(block)));
  }

  facts(): Promise<ChainFacts> {
    const { genesisHash, beacon } = this.#ledger;
    return this.#read(() => ({ genesisHash: `0x${genesisHash.toHex()}`, beacon: beacon.beacon }));
  }

  head(): Promise<Head> {
    return this.#read(() => headOf(this.#ledger.head()));
  }

  finalizedBlock(): Promise<number> {
    return this.#read(() => this.#ledger.head().number);
  }

  onHead(listener: (head: Head) => void): () => void {
    const unlisten = this.#ledger.onBlock((block) => listener(headOf(block)));
    const stop = () => {
      unlisten();
      this.#stops.delete(stop);
    };
    this.#stops.add(stop);
    return stop;
  }

  metagraph(): Promise<Metagraph> {
    return this.#read(() => ({
      netuid: this.netuid,
      block: this.#ledger.head().number,
      neurons: neuronsOf(this.#ledger.state, this.netuid).map((_, uid) => neuronAt(this.#ledger, this.netuid, uid)),
    }));
  }

  parameters(): Promise<SubnetParameters> {
    return this.#read(() => parametersOf(this.#ledger, this.netuid));
  }

  epochState(): Promise<EpochState> {
    return this.#read(() => epochStateOf(this.#ledger, this.netuid));
  }

  weightsOf({ uid, mechanism }: { uid: number; mechanism: number }): Promise<{ uid: number; value: number }[]> {
    return this.#read(() => {
      const row = this.#ledger.state.read("weights", keyOf(storageIndex({ netuid: this.netuid, mechanism }), uid)) ??
        [];
      return row.map(([target, value]) => ({ uid: target, value }));
    });
  }

  pendingCommits(of: { hotkey: Address; mechanism: number }): Promise<PendingCommit[]> {
    return this.#read(() => pendingCommitsOf(this.#ledger, { ...of, netuid: this.netuid }));
  }

  weightCallsOf({ hotkey, mechanism, afterBlock, toBlock }: WeightCallSearch): Promise<number[] | null> {
    return this.#read(() => {
      const uid = uidOf(this.#ledger.state, this.netuid, accountOf(hotkey));
      const of = { netuid: this.netuid, mechanism, hotkey, uid };
      const landed: number[] = [];
      for (let block = afterBlock + 1; block <= toBlock; block++) {
        const outcomes = this.#ledger.outcomesOf(block);
        if (outcomes === null) return null;
        if (outcomes.some(({ events }) => isWeightCall(events, of))) landed.push(block);
      }
      return landed;
    });
  }

  commitmentsOf(hotkeys: readonly Address[]): Promise<Commitment[]> {
    return this.#read(() => hotkeys.flatMap((hotkey) => commitmentOf(this.#ledger, this.netuid, hotkey) ?? []));
  }

  balanceOf(address: Address): Promise<bigint> {
    return this.#read(() => this.#ledger.state.read("account", accountOf(address))?.freeRao ?? 0n);
  }

  alphaOf({ hotkey, block }: { hotkey: Address; block: number }): Promise<bigint | null> {
    return this.#read(() => {
      const blocksAgo = this.#ledger.head().number - block;
      const state = this.#ledger.state.past(blocksAgo);
      return state === null ? null : state.read("stake", keyOf(this.netuid, accountOf(hotkey))) ?? 0n;
    });
  }

  send(call: ChainCall, signer: ChainSigner): Promise<Receipt> {
    return this.#read(() => {
      const nonce = this.#ledger.nonceOf(signer.publicKey);
      const message = this.#messageOf({ call, nonce });
      if (!verifySignature({ address: signer.address, message, signature: signer.sign(message) })) {
        return { status: "refused", refusal: poolRefusal({ kind: "badProof" }, { words: "", call: call.type }) };
      }
      const submission = this.#ledger.submit({ from: signer.publicKey, nonce, call });
      if (submission.status === "refused") {
        return { status: "refused", refusal: refusalAtSubmission(submission, call.type) };
      }
      const extrinsicHash = `0x${hashBytes(message).toHex()}`;
      return this.#wait({ submission: submission.submission, call: call.type, extrinsicHash });
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of [...this.#stops]) stop();
    this.#stops.clear();
    for (const submission of [...this.#waiting.keys()]) this.#forget(submission, "the chain was closed");
    return Promise.resolve();
  }

  #read<T>(answer: () => T | Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new ChainError("closed", "Cannot query the local chain as it is closed"));
    if (this.#ledger.state.read("subnet", keyOf(this.netuid)) === undefined) {
      const message = `Cannot ask about subnet ${this.netuid} as the local chain has no such subnet`;
      return Promise.reject(new ChainError("badAnswer", message));
    }
    return Promise.resolve(answer());
  }

  #messageOf({ call, nonce }: { readonly call: ChainCall; readonly nonce: number }): Uint8Array {
    return new TextEncoder().encode(`${this.#ledger.genesisHash.toHex()} ${nonce} ${textOfCall(call)}`);
  }

  #wait(
    { submission, ...of }: { readonly submission: number } & Pick<Waiting, "call" | "extrinsicHash">,
  ): Promise<Receipt> {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    const late = () => this.#forget(submission, `no block came within ${this.#deadlineMs} ms`);
    this.#waiting.set(submission, { ...of, settle: resolve, timer: setTimeout(late, this.#deadlineMs) });
    return promise;
  }

  #forget(submission: number, why: string): void {
    this.#finish(submission, () => ({ status: "unknown", why: `The outcome of the call is unknown: ${why}` }));
  }

  #settle({ number, outcomes }: LocalBlock): void {
    for (const { submission, error } of outcomes) {
      this.#finish(
        submission,
        ({ call, extrinsicHash }) =>
          error === null
            ? { status: "included", block: number, extrinsicHash }
            : { status: "refused", refusal: dispatchRefusal({ name: error.name, docs: "", call }) },
      );
    }
  }

  #finish(submission: number, receipt: (waiting: Waiting) => Receipt): void {
    const waiting = this.#waiting.get(submission);
    if (waiting === undefined) return; // abandoned, or not ours
    this.#waiting.delete(submission);
    clearTimeout(waiting.timer);
    waiting.settle(receipt(waiting));
  }
}

function neuronAt({ state }: LocalLedger, netuid: number, uid: number): Neuron {
  const neuron = state.get("neuron", keyOf(netuid, uid));
  const seat = state.get("seat", keyOf(netuid, uid));
  const { axon } = neuron;
  return {
    uid,
    hotkey: addressOf(neuron.hotkey),
    coldkey: addressOf(state.get("hotkey", neuron.hotkey).coldkey),
    isActive: neuron.isActive,
    hasPermit: neuron.hasPermit,
    registeredAtBlock: neuron.registeredAtBlock,
    lastUpdateBlock: seat.lastUpdateBlock,
    stakeRao: state.read("stake", keyOf(netuid, neuron.hotkey)) ?? 0n,
    incentive: seat.incentive,
    dividends: neuron.dividends,
    emissionRao: neuron.emissionRao,
    axon: axon && { ip: axon.ip, port: axon.port, protocol: axon.protocol, version: axon.version },
  };
}

function refusalAtSubmission(
  submission: Extract<Submission, { status: "refused" }>,
  call: ChainCall["type"],
): Refusal {
  const { kind } = submission;
  return poolRefusal(kind === "custom" ? { kind, custom: submission.custom } : { kind }, { words: "", call });
}

const headOf = ({ number, timestampMs }: LocalBlock): Head => ({ block: number, seenMs: timestampMs });

/** A reveal has its own event. */
function isWeightCall(
  events: readonly ChainEvent[],
  of: { netuid: number; mechanism: number; hotkey: Address; uid: number | null },
): boolean {
  if (events.some(({ type }) => type === "saltedRevealed")) return false;
  return events.some((event) => {
    if (event.type !== "weightsSet" && event.type !== "weightsCommitted" && event.type !== "timelockedCommitted") {
      return false;
    }
    if (event.netuid !== of.netuid || event.mechanism !== of.mechanism) return false;
    return event.type === "weightsSet" ? event.uid === of.uid : event.hotkey === of.hotkey;
  });
}
