/**
 * Sends each call at most once, one at a time per account. It is signed again only if the last extrinsic was certainly
 * not accepted; otherwise the same bytes are resent, whose nonce counts once. Every promise settles within
 * `inclusionWaitMs` and its requests' deadlines.
 */

import * as v from "valibot";
import type { ChainCall, ChainSigner } from "../../call.ts";
import { callLifeBlocks, ChainError, type Receipt } from "../../chain.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { readLastUpdate } from "../reads/accounts.ts";
import type { Connection } from "../connection/connection.ts";
import { encodeChainCall, type SignedExtrinsic, signExtrinsic } from "./extrinsics.ts";
import { finalizedHead } from "./finality.ts";
import { BlockSearch, type Inclusion, isExtrinsic, isSameCall, type Lookup, readOutcome } from "./inclusion.ts";
import { integer } from "../connection/plain_values.ts";
import { readPoolError } from "./pool_error.ts";
import { invalidated, nonceTaken, poolRefusal } from "./refusals.ts";
import type { RpcError } from "../connection/rpc_error.ts";
import type { Runtime } from "../connection/runtime.ts";
import type { Session } from "../connection/session.ts";
import { readAtHead } from "../connection/state.ts";
import { type Submission, submitAndWatch, submitOnly, type WatchEnd } from "./submission.ts";
import { Deadline, type Timers } from "../connection/timers.ts";

interface SenderOptions {
  readonly connection: Connection;
  readonly archive: () => Promise<Connection | null>;
  readonly timers: Timers;
  readonly inclusionWaitMs: number;
}

interface Attempt {
  readonly session: Session;
  readonly runtime: Runtime;
  readonly extrinsic: SignedExtrinsic;
  readonly call: Uint8Array;
  readonly headBlock: number; // newest at signing
}

interface Order {
  readonly call: ChainCall;
  readonly signer: ChainSigner;
  readonly deadline: Deadline;
}

interface Rejection {
  readonly attempt: Attempt;
  readonly error: RpcError;
  readonly count: number;
  readonly isRuntimeFresh: boolean;
}

const lost: Promise<WatchEnd> = Promise.resolve({ type: "lost" });
const attemptsMax = 4;
const birthLagMax = callLifeBlocks / 2; // longer lags make the era too short

export class Sender {
  readonly #options: SenderOptions;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Rejects with a `ChainError` only if nothing was sent. */
  async send(call: ChainCall, signer: ChainSigner): Promise<Receipt> {
    const before = this.#last.get(signer.address) ?? Promise.resolve();
    const sent = before.then(() => this.#deliver(call, signer));
    const settled = sent.catch(() => {/* its caller gets it */});
    this.#last.set(signer.address, settled);
    try {
      return await sent;
    } finally {
      if (this.#last.get(signer.address) === settled) this.#last.delete(signer.address);
    }
  }

  async #deliver(call: ChainCall, signer: ChainSigner): Promise<Receipt> {
    const deadline = new Deadline(this.#options.timers, this.#options.inclusionWaitMs);
    const order = { call, signer, deadline };
    try {
      let isRuntimeFresh = false;
      for (let count = 1;; count++) {
        const attempt = await this.#prepare(order);
        const submission = await this.#submit(attempt);
        if (submission.type !== "rejected") {
          const isTaken = submission.type === "taken";
          const receipt = await this.#follow(order, { attempt, end: isTaken ? submission.end : lost });
          if (isTaken) submission.unwatch();
          return receipt;
        }
        const { error } = submission;
        const verdict = await this.#afterRejection(order, { attempt, error, count, isRuntimeFresh });
        if (verdict.receipt !== null) return verdict.receipt;
        isRuntimeFresh ||= verdict.isRuntimeFresh;
        if (count === attemptsMax || deadline.isPassed) return refusedByPool(error, call);
      }
    } finally {
      deadline.cancel();
    }
  }

  #prepare({ call, signer }: Order): Promise<Attempt> {
    return this.#options.connection.run(async (session) => {
      const { runtime, head } = session;
      const [nonce, finalized] = await Promise.all([
        session.socket.call("system_accountNextIndex", [signer.address]),
        finalizedHead(session),
      ]);
      const encoded = encodeChainCall(runtime, call);
      const extrinsic = signExtrinsic({
        runtime,
        signer,
        call: encoded,
        nonce: v.parse(integer, nonce),
        birth: head.number - finalized.number > birthLagMax ? head : finalized,
        genesisHash: session.genesisHash,
      });
      return { session, runtime, extrinsic, call: encoded, headBlock: head.number };
    });
  }

  /** A rate-limiting node gets a pause, then the same bytes. */
  async #submit({ session, extrinsic }: Attempt): Promise<Submission> {
    for (let count = 1;; count++) {
      const submission = await submitAndWatch(session, extrinsic);
      const isRepeated = count > 1 && submission.type === "rejected" &&
        ["stale", "banned"].includes(readPoolError(submission.error).kind);
      if (isRepeated) return { type: "unclear" }; // the first copy may have been accepted
      if (submission.type !== "putOff" || count === attemptsMax) return submission;
      await this.#options.connection.rest();
    }
  }

  /** The extrinsic was not accepted. Null: another attempt. */
  async #afterRejection(
    order: Order,
    { attempt, error, count, isRuntimeFresh }: Rejection,
  ): Promise<{ receipt: Receipt | null; isRuntimeFresh: boolean }> {
    const again = { receipt: null, isRuntimeFresh };
    const refused = { receipt: refusedByPool(error, order.call), isRuntimeFresh };
    const pool = readPoolError(error);
    switch (pool.kind) {
      case "stale":
      case "future":
        // Twice in a row: the node's count lags its pool, as when several nodes share an address.
        if (count > 1) await this.#headAfter(attempt.headBlock, order.deadline);
        return again;
      case "lowPriority":
        return { receipt: await this.#yield(order, attempt), isRuntimeFresh };
      case "alreadyImported":
        return { receipt: await this.#follow(order, { attempt, end: lost }), isRuntimeFresh };
      case "badProof":
      case "ancientBirthBlock":
        if (isRuntimeFresh) return refused;
        await this.#options.connection.run((session) => session.refreshRuntime({ isForced: true }));
        return { receipt: null, isRuntimeFresh: true };
      case "other":
        // The node could not decode it: the runtime may have just changed.
        await this.#options.connection.run((session) => session.refreshRuntime({ isForced: false }));
        return this.#options.connection.session?.runtime === attempt.runtime ? refused : again;
      default:
        return refused;
    }
  }

  /** Another extrinsic of this account waits under our nonce. If it makes the same call, nothing is sent again. */
  async #yield(order: Order, attempt: Attempt): Promise<Receipt | null> {
    const { connection } = this.#options;
    const { signer, deadline } = order;
    const { extrinsic, call, headBlock } = attempt;
    const isSought = isSameCall({ publicKey: signer.publicKey, call });
    const search = new BlockSearch({ connection, isSought, afterBlock: headBlock });
    while (!deadline.isPassed) {
      const seen = connection.lastHead;
      const found = await search.look({ account: signer.address, nonce: extrinsic.nonce });
      switch (found.type) {
        case "included":
          return await this.#outcome(order, { attempt, inclusion: found.inclusion });
        case "overtaken":
          return null;
        case "unreadable":
          return await this.#judgeByLastUpdate(order, { attempt, why: unreadable });
      }
      await this.#headAfter(seen, deadline);
    }
    return null;
  }

  async #follow(order: Order, { attempt, end }: { attempt: Attempt; end: Promise<WatchEnd> }): Promise<Receipt> {
    const { connection } = this.#options;
    const { extrinsic, headBlock } = attempt;
    const search = new BlockSearch({ connection, isSought: isExtrinsic(extrinsic), afterBlock: headBlock });
    try {
      const reached = await Promise.race([end, order.deadline.passed]);
      if (reached?.type === "inBlock") {
        const inclusion = await search.findIn(reached.hash);
        if (inclusion !== null) return await this.#outcome(order, { attempt, inclusion });
      }
      return await this.#reconcile(order, { attempt, search, isInvalid: reached?.type === "invalid" });
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      return { status: "unknown", why: error.message };
    }
  }

  /** The answer was lost: checks blocks and nonce until the wait is over. */
  async #reconcile(
    order: Order,
    { attempt, search, isInvalid }: { attempt: Attempt; search: BlockSearch; isInvalid: boolean },
  ): Promise<Receipt> {
    const { connection } = this.#options;
    const { signer, deadline } = order;
    const { extrinsic } = attempt;
    let isHeard = false; // a pool answered the resent bytes
    for (;;) {
      const seen = connection.lastHead;
      const found = await lookAgain(search, { account: signer.address, nonce: extrinsic.nonce, deadline });
      switch (found.type) {
        case "failed":
          await this.#headAfter(seen, deadline);
          continue;
        case "included":
          return await this.#outcome(order, { attempt, inclusion: found.inclusion });
        case "overtaken":
          return { status: "refused", refusal: nonceTaken() };
        case "unreadable":
          return await this.#judgeByLastUpdate(order, { attempt, why: unreadable });
      }
      if (isInvalid) return { status: "refused", refusal: invalidated() };
      if (found.headBlock > extrinsic.lastBlock) {
        return {
          status: "refused",
          refusal: poolRefusal({ kind: "ancientBirthBlock" }, { words: "", call: order.call.type }),
        };
      }
      if (deadline.isPassed) {
        const why = `the call is in no block yet and may still be until block ${extrinsic.lastBlock}`;
        return { status: "unknown", why };
      }
      if (!isHeard) {
        isHeard = await this.#sendAgain(extrinsic, deadline);
      }
      await this.#headAfter(seen, deadline);
    }
  }

  /** Returns whether a pool has answered. */
  async #sendAgain(extrinsic: SignedExtrinsic, deadline: Deadline): Promise<boolean> {
    try {
      const again = await this.#options.connection.run((session) => submitOnly(session, extrinsic));
      return again.type === "taken" || again.type === "rejected";
    } catch (error) {
      if (!(error instanceof ChainError) || error.code === "closed" || deadline.isPassed) throw error;
      return false; // the next block triggers another
    }
  }

  /** The chain stores when weights were accepted, even without that block. */
  async #judgeByLastUpdate(
    { call, signer }: Order,
    { attempt: { extrinsic, headBlock }, why }: { attempt: Attempt; why: string },
  ): Promise<Receipt> {
    if ("mechanism" in call && call.type !== "revealWeights") {
      const of = { netuid: call.netuid, index: storageIndex(call), hotkey: signer.address };
      const block = await this.#options.connection.run((session) =>
        readAtHead(session, (state) => readLastUpdate(state, of))
      );
      if (block !== null && block > headBlock) return { status: "included", block, extrinsicHash: extrinsic.hash };
    }
    return { status: "unknown", why };
  }

  async #outcome(
    order: Order,
    { attempt, inclusion }: { attempt: Attempt; inclusion: Inclusion },
  ): Promise<Receipt> {
    const { connection, archive } = this.#options;
    try {
      return await readOutcome({ connection, archive, inclusion, call: order.call.type });
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      const why = `the call is in block ${inclusion.block.number}, and how it ended cannot be read: ${error.message}`;
      return await this.#judgeByLastUpdate(order, { attempt, why });
    }
  }

  async #headAfter(block: number, deadline: Deadline): Promise<void> {
    const { connection } = this.#options;
    if (connection.lastHead > block || connection.isClosed) return;
    const { seen, stop } = connection.nextHead();
    await Promise.race([seen, deadline.passed]);
    stop();
  }
}

const unreadable = "the account's nonce is used, and the block that used it can no longer be read";

/** A failed search has no consequence: the next block triggers another. */
async function lookAgain(
  search: BlockSearch,
  { deadline, ...of }: { account: string; nonce: number; deadline: Deadline },
): Promise<Lookup | { type: "failed" }> {
  try {
    return await search.look(of);
  } catch (error) {
    if (!(error instanceof ChainError) || error.code === "closed" || deadline.isPassed) throw error;
    return { type: "failed" };
  }
}

function refusedByPool(error: RpcError, call: ChainCall): Receipt {
  const refusal = poolRefusal(readPoolError(error), { words: error.message, call: call.type });
  return { status: "refused", refusal };
}
