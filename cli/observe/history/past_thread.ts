/**
 * A thread that reads a run's past, until no question has come for a while. One question at a time; a thread that stops
 * fails the waiting ones, and the next question starts another.
 */

import type { Cancel, Timers } from "../../../net/timers.ts";
import type { Past } from "./past.ts";

export type PastQuestion =
  & { readonly folder: string }
  & (
    | { readonly about: "span" }
    | { readonly about: "moment"; readonly sequence: number }
    | { readonly about: "pathway"; readonly microbatch: number }
    | { readonly about: "account"; readonly member: string }
    | { readonly about: "earnings" }
  );

export type PastAnswer = { readonly json: string | null } | { readonly problem: string };

const idleMs = 60_000;

export class PastThread implements Past {
  readonly #folder: string;
  readonly #timers: Timers;
  #worker: Worker | null = null;
  #answered: PromiseWithResolvers<string | null>[] = [];
  #idle: Cancel | null = null;

  constructor(folder: string, timers: Timers) {
    this.#folder = folder;
    this.#timers = timers;
  }

  async span(): Promise<string> {
    return await this.#ask({ folder: this.#folder, about: "span" }) ?? "null";
  }

  at(sequence: number): Promise<string | null> {
    return this.#ask({ folder: this.#folder, about: "moment", sequence });
  }

  pathway(microbatch: number): Promise<string | null> {
    return this.#ask({ folder: this.#folder, about: "pathway", microbatch });
  }

  account(member: string): Promise<string | null> {
    return this.#ask({ folder: this.#folder, about: "account", member });
  }

  async earnings(): Promise<string> {
    return await this.#ask({ folder: this.#folder, about: "earnings" }) ?? "null";
  }

  close(): void {
    this.#idle?.();
    this.#worker?.terminate();
    this.#worker = null;
    this.#fail("this process is ending");
  }

  #ask(question: PastQuestion): Promise<string | null> {
    const answer = Promise.withResolvers<string | null>();
    this.#answered.push(answer);
    this.#worker ??= this.#open();
    this.#worker.postMessage(question);
    this.#idle?.();
    this.#idle = this.#timers.after(idleMs, () => this.close());
    return answer.promise;
  }

  #open(): Worker {
    const worker = new Worker(workerUrl(), { type: "module", name: "past" });
    worker.onmessage = ({ data }: MessageEvent<PastAnswer>) => {
      const answer = this.#answered.shift();
      if ("json" in data) answer?.resolve(data.json);
      else answer?.reject(new Error(data.problem));
    };
    worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      this.#worker = null;
      this.#fail(`its thread stopped: ${event.message}`);
    };
    return worker;
  }

  #fail(why: string): void {
    const waiting = this.#answered;
    this.#answered = [];
    for (const { reject } of waiting) reject(new Error(`Cannot read the run's past: ${why}`));
  }
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./past_worker.js", import.meta.url)
    : new URL("./past_worker.ts", import.meta.url);
}
