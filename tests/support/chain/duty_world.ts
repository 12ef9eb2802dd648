/**
 * A validator's weight duty against the model chain, block by block in virtual time, with drawn faults.
 *
 * Keeps the truth that the duty must not need: which block had which fault, what landed in which epoch. A window counts as missed
 * when the last blocks before an epoch were clean and nothing of ours had landed in it.
 */

import type { Receipt } from "../../../chain/chain.ts";
import {
  type DutyEffect,
  type DutyEvent,
  type DutyRecord,
  type DutyState,
  openDuty,
} from "../../../chain/duty/duty.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { modelBeacon, type ModelCall, ModelChain, modelNetuid } from "./model_chain.ts";
import { prngOf } from "../small_prng.ts";

export const settleBlocks = 6;
const storedEvery = 16; // seeds; a restart reads what is stored in any case
const cleanBlocks = 4; // before an epoch: one look, one call, one block to land in, one to spare
const addressOf = (seed: number) => encodeAddress(new Uint8Array(32).fill(seed & 0xff).with(0, seed >> 8));

export type FaultKind =
  | "outage" // no heads, no reads, no answers
  | "reads" // heads come, reads fail: a runtime upgrade
  | "sends" // answers lost, calls lost or late or refused
  | "restart"
  | "mode" // commit-reveal switched
  | "tempo" // another tempo, an epoch by request
  | "uids" // newcomers take uids
  | "limits"; // stake threshold and version key rise for a while

export const faultKinds: readonly FaultKind[] = [
  ...(["outage", "reads", "sends", "restart", "mode", "tempo", "uids", "limits"] as const),
];

interface Flight {
  readonly attempt: number;
  readonly call: ModelCall;
  readonly landsAtBlock: number; // Infinity: never
  readonly answer: "truth" | "unknown";
  readonly process: number;
}

export interface Epoch {
  readonly endBlock: number;
  readonly landed: number;
  readonly isExcused: boolean;
}

export class DutyWorld {
  readonly chain: ModelChain;
  readonly records: DutyRecord[] = [];
  readonly epochs: Epoch[] = [];
  readonly refusals: string[] = [];
  state: DutyState;
  #dice: (below: number) => number;
  #flights: Flight[] = [];
  #process = 1;
  #outageUntil = 0;
  #readsFailUntil = 0;
  #limitedUntil = 0;
  #dirtyUntil = 0; // an epoch that ends up to here may be missed
  #landedThisEpoch = 0;
  #round = 0;
  #seed: number;

  constructor(seed: number, readonly faults: readonly FaultKind[], options: {
    formula: "legacy" | "stateful";
    tempoBlocks: number;
    mode: "plain" | "salted" | "timelocked";
  }) {
    this.#seed = seed;
    this.#dice = prngOf(seed);
    const hotkeys = Array.from({ length: 12 }, (_, i) => addressOf(seed * 64 + i));
    this.chain = new ModelChain({ formula: options.formula, tempoBlocks: options.tempoBlocks, hotkeys });
    const isCommitReveal = options.mode !== "plain";
    const commitRevealVersion = options.mode === "salted" ? 1 : 4;
    this.chain.change({ isCommitReveal, commitRevealVersion, revealPeriodEpochs: 1 + this.#dice(2) });
    this.chain.finalityLagBlocks = 2; // as Subtensor's usually lags
    this.state = openDuty({
      ...{ netuid: modelNetuid, mechanism: 0, hotkey: hotkeys[0]!, versionKey: "3", beacon: modelBeacon },
      ...{ saltSeed: "07".repeat(32), settleBlocks },
    });
    this.#score();
    this.#dirtyUntil = this.chain.block + settleBlocks; // the first epoch may come at once
  }

  run(epochs: number): void {
    while (this.chain.epochsRun < epochs) this.#block();
  }

  #block(): void {
    const { chain } = this;
    const isEpoch = chain.advance();
    if (isEpoch) this.#closeEpoch();
    this.#draw();
    this.#fly();
    if (isEpoch || this.#dice(20) === 0) this.#score();
    if (chain.block < this.#outageUntil) return;
    this.#deliver({ type: "headSeen", head: { block: chain.block, seenMs: chain.timeMs } });
  }

  #closeEpoch(): void {
    const { block } = this.chain;
    this.epochs.push({ endBlock: block, landed: this.#landedThisEpoch, isExcused: block <= this.#dirtyUntil });
    this.#landedThisEpoch = 0;
  }

  #dirty(untilBlock: number): void {
    this.#dirtyUntil = Math.max(this.#dirtyUntil, untilBlock);
  }

  #draw(): void {
    const { chain } = this;
    const { tempoBlocks } = chain.parameters;
    const happens = (kind: FaultKind, one: number) => this.faults.includes(kind) && this.#dice(one) === 0;
    if (happens("outage", 3 * tempoBlocks)) {
      this.#outageUntil = chain.block + 1 + this.#dice(this.#dice(3) === 0 ? tempoBlocks : 20);
      this.#dirty(this.#outageUntil + cleanBlocks + settleBlocks);
    }
    if (happens("reads", 2 * tempoBlocks)) {
      this.#readsFailUntil = chain.block + 1 + this.#dice(10);
      this.#dirty(this.#readsFailUntil + cleanBlocks);
    }
    if (happens("restart", 15)) this.#restart();
    if (happens("mode", 2 * tempoBlocks)) {
      chain.change({ isCommitReveal: this.#dice(2) === 0, commitRevealVersion: this.#dice(2) === 0 ? 1 : 4 });
      this.#dirty(chain.block + cleanBlocks + settleBlocks); // a call on its way is of the wrong kind now
    }
    if (happens("tempo", 3 * tempoBlocks)) this.#changeTempo();
    if (happens("uids", 10)) chain.replace(1 + this.#dice(11), addressOf(this.#seed * 64 + 20 + this.#dice(40_000)));
    if (happens("limits", 3 * tempoBlocks)) {
      chain.change(this.#dice(2) === 0 ? { stakeThresholdRao: 9_000_000_000n } : { weightsVersionKey: 4n });
      this.#limitedUntil = chain.block + this.#dice(2 * tempoBlocks);
    }
    if (chain.block < this.#limitedUntil) this.#dirty(chain.block + 1 + cleanBlocks);
    else chain.change({ stakeThresholdRao: 1_000_000_000n, weightsVersionKey: 3n });
  }

  #changeTempo(): void {
    const { chain } = this;
    if (chain.options.formula === "stateful" && this.#dice(2) === 0) {
      chain.pendingEpochAtBlock = chain.block + 1 + this.#dice(20);
    } else chain.change({ tempoBlocks: 20 + this.#dice(80) });
    this.#dirty(chain.block + 100); // the epoch under way and the one after
  }

  #restart(): void {
    this.#process += 1;
    this.state = JSON.parse(JSON.stringify(this.state));
    this.#dirty(this.chain.block + cleanBlocks + (this.state.attempt === null ? 0 : settleBlocks));
    this.#deliver({ type: "restarted" });
  }

  #score(): void {
    this.#round += 1;
    const scored = this.chain.neurons.slice(1).map(({ hotkey }) => [hotkey, 1 + this.#dice(1_000)] as const);
    const scores = { round: this.#round, block: this.chain.block, byHotkey: Object.fromEntries(scored) };
    this.#deliver({ type: "scored", scores });
  }

  /** Calls that land in this block, and answers. */
  #fly(): void {
    const { chain } = this;
    const arriving = this.#flights.filter(({ landsAtBlock }) => landsAtBlock === chain.block);
    this.#flights = this.#flights.filter(({ landsAtBlock }) => landsAtBlock > chain.block && landsAtBlock < Infinity);
    for (const flight of arriving) {
      const error = chain.execute(this.state.options.hotkey, flight.call);
      if (error === null && flight.call.type !== "revealWeights") this.#landedThisEpoch += 1;
      if (error !== null) this.refusals.push(error);
      if (flight.answer === "unknown") continue;
      if (chain.block < this.#outageUntil) this.#answer(flight, { status: "unknown", why: "disconnected" });
      else if (error === null) this.#answer(flight, { status: "included", block: chain.block, extrinsicHash: "0x" });
      else {
        const refusal = { name: error, sentence: error, action: "look again", retry: "nextBlock" } as const;
        this.#answer(flight, { status: "refused", refusal });
      }
    }
  }

  #answer(flight: Flight, receipt: Receipt): void {
    if (flight.process !== this.#process) return; // its process is gone
    this.#deliver({ type: "answered", attempt: flight.attempt, receipt });
  }

  #deliver(event: DutyEvent): void {
    const nowMs = this.chain.timeMs;
    const effects = weightDuty.step(this.state, event, nowMs);
    weightDuty.assertInvariants(this.state);
    if (this.#seed % storedEvery === 0) this.state = JSON.parse(JSON.stringify(this.state)); // as it is stored before its effects
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: DutyEffect): void {
    const { chain } = this;
    switch (effect.type) {
      case "record":
        this.records.push(effect.record);
        return;
      case "read":
        if (chain.block < Math.max(this.#readsFailUntil, this.#outageUntil)) {
          return this.#deliver({ type: "readFailed", why: "unreachable" });
        }
        return this.#deliver({ type: "viewRead", view: chain.view(this.state.options.hotkey, effect.blocks) });
      default:
        return this.#send(effect.attempt, effect.type === "send" ? effect.call : effect);
    }
  }

  #send(attempt: number, call: ModelCall): void {
    const { block } = this.chain;
    const flight = { attempt, call, process: this.#process, landsAtBlock: block + 1, answer: "truth" as const };
    const fate = this.faults.includes("sends") ? this.#dice(10) : 9;
    const dirty = () => this.#dirty(block + settleBlocks + cleanBlocks);
    if (fate === 0) { // landed, answer lost
      this.#flights.push({ ...flight, answer: "unknown" });
    } else if (fate === 1) { // lost
      dirty();
    } else if (fate === 2) { // late, answer lost
      dirty();
      this.#flights.push({ ...flight, landsAtBlock: block + 1 + this.#dice(settleBlocks), answer: "unknown" });
    } else if (fate === 3) { // refused at the door
      dirty();
      const refusal = { name: "1014", sentence: "priority is too low", action: "wait", retry: "nextBlock" } as const;
      return this.#answer(flight, { status: "refused", refusal });
    } else {
      this.#flights.push(flight);
      return;
    }
    this.#answer(flight, { status: "unknown", why: "no answer" });
  }
}
