/**
 * Samples of the model's text from each round's checkpoint, with the same prompt and the same draws.
 *
 * A sample takes one thread for at most `mostMs`, and all together at most `share` of the time. What fails is tried
 * again with the next round; a model that is too large, or too slow, has no samples. Only the end of a finished run
 * waits for a sample.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { samplingOf } from "../../../core/settings/sampling.ts";
import type { RecordOf, ViewRecord } from "../../../core/view/view_record.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { harmless } from "../../terminal/text/foreign_text.ts";
import type { SampleAnswer, SampleThread, StartSample } from "./sample_thread.ts";

const share = 0.05; // of one core's time
const mostMs = 20_000;
const stuckMs = 3 * mostMs; // reading the checkpoint and the first token included
const lastMs = 5_000;
const mostBytes = 2 ** 30; // of the model while it computes
const sampling = { temperature: 0.7, topK: 40, seed: 1 }; // as at the end of a swarm
const charactersOfToken = 16; // more than any text needs on average

interface TextSamplesOptions {
  readonly folder: string;
  readonly config: () => RunConfig;
  readonly sampledStep: () => number | null;
  readonly timers: Timers;
  readonly start: StartSample;
  readonly tell: (record: RecordOf<"textSampled">) => void;
  readonly onProblem: (text: string) => void;
}

export class TextSamples {
  readonly #options: TextSamplesOptions;
  #isWanted = false; // a checkpoint has no sample yet
  #isOver = false;
  #thread: SampleThread | null = null;
  #nextAtMs = -Infinity;
  #cancel: Cancel | null = null;
  #lastTookMs = 0;
  #idle: () => void = () => {};

  constructor(options: TextSamplesOptions) {
    this.#options = options;
  }

  onRecord({ type }: ViewRecord): void {
    if (type !== "checkpointWritten") return;
    this.#isWanted = true;
    this.#begin();
  }

  /** Resolves once the last checkpoint has its sample, if that takes no longer than people wait. */
  async finish(): Promise<void> {
    this.#nextAtMs = -Infinity;
    this.#begin();
    if (this.#thread !== null && this.#lastTookMs <= lastMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      const cancel = this.#options.timers.after(lastMs, resolve);
      await promise;
      cancel();
    }
    this.close();
  }

  close(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#thread?.stop();
    this.#thread = null;
    this.#idle();
  }

  #begin(): void {
    const { timers, config, folder, start } = this.#options;
    const { prompt, tokens } = samplingOf(config());
    if (!this.#isWanted || this.#isOver || this.#thread !== null || tokens === 0) return;
    this.#cancel?.();
    const waitMs = this.#nextAtMs - timers.steadyMs();
    if (waitMs > 0) {
      this.#cancel = timers.after(waitMs, () => this.#begin());
      return;
    }
    this.#isWanted = false;
    const startedMs = timers.steadyMs();
    const thread = start({ model: folder, prompt, tokens, ...sampling, mostBytes, mostMs });
    this.#thread = thread;
    this.#cancel = timers.after(stuckMs, () => this.#giveUp(`none came within ${stuckMs / 1_000} s`));
    thread.answer.then((answer) => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#cancel?.();
      this.#lastTookMs = timers.steadyMs() - startedMs;
      this.#nextAtMs = startedMs + this.#lastTookMs / share;
      this.#take(answer, prompt);
      this.#begin();
      if (this.#thread === null) this.#idle();
    });
  }

  #take(answer: SampleAnswer, prompt: string): void {
    const { onProblem, sampledStep, tell } = this.#options;
    if ("problem" in answer) {
      if (answer.isTooLarge) this.#giveUp(answer.problem);
      else onProblem(`A sample of the model's text could not be made: ${answer.problem}`);
      return;
    }
    const { trained, text, tokens } = answer;
    if (trained === null || trained.step === sampledStep()) return; // the same checkpoint, after a restart
    tell({ type: "textSampled", ...trained, prompt, text: harmless(text, charactersOfToken * tokens), tokens });
  }

  #giveUp(why: string): void {
    this.close();
    this.#options.onProblem(`There are no samples of the model's text: ${why}`);
  }
}
