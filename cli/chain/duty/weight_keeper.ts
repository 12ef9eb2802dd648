/** Drives the weight duty. I/O failures are events; anything else rejects `failed`. */

import { unreachable } from "../../../core/assert.ts";
import type { ChainCall } from "../../../chain/call.ts";
import {
  callLifeBlocks,
  type Chain,
  ChainError,
  type ChainFacts,
  type Head,
  type Receipt,
} from "../../../chain/chain.ts";
import type { DutyEffect, DutyEvent, DutyRecord, DutyState } from "../../../chain/duty/duty.ts";
import { type DutyHealth, dutyHealth } from "../../../chain/duty/health.ts";
import { isSettled, weightDuty } from "../../../chain/duty/machine.ts";
import { readView } from "../../../chain/duty/read_view.ts";
import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import { Driver, type TimedEvent } from "../../roles/driver.ts";
import type { DutyFolder } from "./duty_folder.ts";

interface WeightKeeperOptions {
  readonly chain: Chain; // closed with the keeper
  readonly facts: ChainFacts;
  readonly signer: HotkeyPair;
  readonly versionKey: bigint;
  readonly folder: DutyFolder;
  readonly timers: Timers;
  readonly random: Random;
  readonly onRecord: (record: DutyRecord) => void;
  readonly onHealth: (health: DutyHealth, block: number) => void;
}

const mechanism = 0; // a run pays through the first one
const inboxMessages = 4096;
const lastEpochs = 2; // for the last row to land
const lastBlocks = 20;

export class WeightKeeper {
  /** Rejects when our own code fails; never resolves. */
  readonly failed: Promise<never>;
  readonly #options: WeightKeeperOptions;
  readonly #state: DutyState;
  readonly #driver: Driver<DutyState, DutyEvent, DutyEffect>;
  readonly #fail: (error: unknown) => void;
  readonly #stopHeads: () => void;
  #news = "";
  #headBlock: number | null = null;
  #early: { readonly round: number; readonly byHotkey: Readonly<Record<string, number>> } | null = null;
  #settling: { readonly resolve: () => void; readonly untilBlock: number } | null = null;

  constructor(options: WeightKeeperOptions) {
    const { chain, facts, signer, versionKey, folder, timers } = options;
    this.#options = options;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.#fail = reject;
    const { state, isSaved } = folder.load({
      ...{ netuid: chain.netuid, mechanism, hotkey: signer.address, versionKey: String(versionKey) },
      beacon: { genesisMs: facts.beacon.genesisMs, periodMs: facts.beacon.periodMs },
      saltSeed: signer.deriveKey("salts of weights").toHex(),
      settleBlocks: callLifeBlocks,
    });
    this.#state = state;
    this.#driver = new Driver({
      machine: weightDuty,
      state,
      perform: (effect) => this.#perform(effect),
      commit: (batch) => this.#afterSteps(batch),
      tick: { type: "tick" },
      timers,
      inboxMessages,
      onPressure: () => {}, // one head per block is not a flood
      onFailure: reject,
    });
    if (isSaved) this.#driver.enqueue({ type: "restarted" });
    this.#stopHeads = chain.onHead((head) => this.#onHead(head));
  }

  /** Scores before the first block wait for it, and apply to the hotkeys registered by then. */
  scored(round: number, byHotkey: Readonly<Record<string, number>>): void {
    if (this.#headBlock === null) this.#early = { round, byHotkey };
    else this.#driver.enqueue({ type: "scored", scores: { round, block: this.#headBlock, byHotkey } });
  }

  /** Resolves when the newest scores are on the chain, or did not land within two epochs. */
  settled(): Promise<void> {
    const { tempoBlocks, headBlock } = this.#state;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settling = { resolve, untilBlock: headBlock + lastEpochs * (tempoBlocks + 1) + lastBlocks };
    this.#settle();
    return promise;
  }

  /** An unreadable chain hides the rest, which may be outdated. */
  health(): DutyHealth {
    const { isSilent, readFailure, alarm } = this.#state;
    const health = dutyHealth(this.#state);
    if (!isSilent && readFailure === null) return health;
    const troubles = [isSilent, readFailure !== null, alarm !== null].filter((is) => is).length; // they come first
    return { ...health, sentences: health.sentences.slice(0, troubles) };
  }

  async close(): Promise<void> {
    this.#stopHeads();
    this.#driver.close();
    this.#settling?.resolve();
    await this.#options.chain.close();
  }

  #perform(effect: DutyEffect): void {
    switch (effect.type) {
      case "read":
        return this.#look(effect);
      case "send":
        return this.#send(effect.attempt, () => Promise.resolve(effect.call));
      case "sealAndSend":
        return this.#send(effect.attempt, () => this.#sealed(effect));
      case "record":
        return this.#options.onRecord(effect.record);
      default:
        return unreachable(effect);
    }
  }

  #onHead(head: Head): void {
    this.#headBlock = head.block;
    const early = this.#early;
    this.#early = null;
    if (early !== null) this.scored(early.round, early.byHotkey);
    this.#driver.enqueue({ type: "headSeen", head });
  }

  #look({ blocks }: Extract<DutyEffect, { type: "read" }>): void {
    const { chain, signer } = this.#options;
    readView(chain, { hotkey: signer.address, mechanism, blocks }).then(
      (view) => this.#driver.enqueue({ type: "viewRead", view }),
      (error) => this.#orFail(error, ({ message }) => this.#driver.enqueue({ type: "readFailed", why: message })),
    );
  }

  #send(attempt: number, makeCall: () => Promise<ChainCall>): void {
    const { chain, signer } = this.#options;
    const answered = (receipt: Receipt) => this.#driver.enqueue({ type: "answered", attempt, receipt });
    makeCall().then((call) => chain.send(call, signer)).then(
      answered,
      (error) => this.#orFail(error, ({ message }) => answered(notSent(message))),
    );
  }

  async #sealed(effect: Extract<DutyEffect, { type: "sealAndSend" }>): Promise<ChainCall> {
    const { chain, facts, signer, random } = this.#options;
    const [{ sealedCall }, { timelockRandomBytes }] = await Promise.all([
      import("../../../chain/duty/sealed_call.ts"),
      import("../../../chain/timelock/timelock.ts"),
    ]);
    const { netuid } = chain;
    const { publicKey } = signer;
    return sealedCall(effect, {
      ...{ netuid, mechanism, publicKey, beacon: facts.beacon, random: random.bytes(timelockRandomBytes) },
    });
  }

  #orFail(error: unknown, onChainError: (error: ChainError) => void): void {
    if (error instanceof ChainError) onChainError(error);
    else this.#fail(error);
  }

  /** Saved before the effects, because a restart must know the calls they send. */
  #afterSteps(batch: readonly TimedEvent<DutyEvent>[]): void {
    if (batch.some(({ event }) => event.type !== "headSeen" && event.type !== "tick")) {
      this.#options.folder.save(this.#state);
    }
    const state = this.#state;
    const { level, words } = state.standing;
    const news = JSON.stringify([level, words, state.isSilent, state.readFailure, state.alarm]);
    const isKnown = state.viewBlock > 0 || state.readFailure !== null || state.isSilent;
    if (news !== this.#news && isKnown) {
      this.#news = news;
      this.#options.onHealth(this.health(), state.headBlock);
    }
    this.#settle();
  }

  #settle(): void {
    const settling = this.#settling;
    if (
      settling !== null && this.#early === null &&
      (isSettled(this.#state) || this.#state.headBlock > settling.untilBlock)
    ) {
      settling.resolve();
    }
  }
}

/** `Chain.send` rejects only if nothing was sent, so the next read may send another call. */
function notSent(why: string): Receipt {
  const refusal = { name: "NotSent", sentence: why, action: "it is sent again when the chain can be reached" };
  return { status: "refused", refusal: { ...refusal, retry: "nextBlock" } };
}
