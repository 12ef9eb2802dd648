/**
 * The near end of the orchestrator's arithmetic threads. A call goes to the least busy thread, the slices of one
 * payload to the same. When a thread fails, its calls end with `ThreadLost`, and the caller repeats the work on its own
 * thread.
 */

import type { RunConfig } from "../../../../core/config/config.ts";
import type { StageSpec } from "../../../../core/model/spec.ts";
import type { ArithmeticAnswer, ArithmeticRequest } from "./arithmetic_worker.ts";
import type { VectorAnswer, VectorArithmetic, VectorCall, VectorCallType } from "./vector_calls.ts";

const mostThreads = 4;

export class ThreadLost extends Error {
  readonly isForGood: boolean; // false: only this call

  constructor(message: string, { isForGood = true } = {}) {
    super(message);
    this.isForGood = isForGood;
  }
}

interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<VectorAnswer<VectorCallType>>>;
}

export class ArithmeticThreads implements VectorArithmetic {
  readonly #run: { readonly config: RunConfig; readonly stages: readonly StageSpec[] };
  readonly #warn: (text: string) => void;
  readonly #most: number;
  readonly #threads: Thread[] = [];
  readonly #inspecting = new Map<number, Thread>();
  #isOver = false;
  #calls = 0;

  constructor(
    { config, stages, threads = Math.min(mostThreads, navigator.hardwareConcurrency), warn }: {
      config: RunConfig;
      stages: readonly StageSpec[];
      threads?: number;
      warn: (text: string) => void;
    },
  ) {
    this.#run = { config, stages };
    this.#warn = warn;
    this.#most = threads;
  }

  async compute<Type extends VectorCallType>(type: Type, call: VectorCall<Type>): Promise<VectorAnswer<Type>> {
    if (this.#isOver) throw new ThreadLost("The threads have ended");
    const thread = this.#threadFor(type, call);
    const id = this.#calls++;
    const waiting = Promise.withResolvers<VectorAnswer<VectorCallType>>();
    try {
      thread.worker.postMessage({ id, type, call: compact(call) } satisfies ArithmeticRequest);
    } catch (error) { // more than 4 GiB, or than there is room for
      const why = error instanceof Error ? error.message : error;
      throw new ThreadLost(`The call does not fit a message: ${why}`, { isForGood: false });
    }
    thread.waiting.set(id, waiting);
    return await waiting.promise as VectorAnswer<Type>;
  }

  close(): void {
    this.#isOver = true;
    for (const { worker } of this.#threads) worker.terminate();
    this.#threads.length = 0; // nobody waits any more
    this.#inspecting.clear();
  }

  #threadFor<Type extends VectorCallType>(type: Type, call: VectorCall<Type>): Thread {
    if (!("inspection" in call)) return this.#freest();
    const { inspection } = call;
    const thread = this.#inspecting.get(inspection) ?? this.#freest();
    if (type === "inspected") this.#inspecting.delete(inspection);
    else this.#inspecting.set(inspection, thread);
    return thread;
  }

  #freest(): Thread {
    const [first] = this.#threads.toSorted((a, b) => a.waiting.size - b.waiting.size);
    const hasFree = first !== undefined && (first.waiting.size === 0 || this.#threads.length >= this.#most);
    return hasFree ? first : this.#open();
  }

  #open(): Thread {
    const worker = new Worker(workerUrl(), { type: "module", name: "arithmetic", deno: { permissions: "none" } });
    const thread: Thread = { worker, waiting: new Map() };
    worker.onmessage = ({ data: { id, answer } }: MessageEvent<ArithmeticAnswer>) => {
      const waiting = thread.waiting.get(id);
      thread.waiting.delete(id);
      waiting?.resolve(answer);
    };
    worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      this.#fail(event.message);
    };
    worker.postMessage({ id: null, run: this.#run } satisfies ArithmeticRequest);
    this.#threads.push(thread);
    return thread;
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.#warn(
      `A thread that computes merges stopped (${why}); they are computed beside the orchestrator's other work`,
    );
    const waiting = this.#threads.flatMap((thread) => [...thread.waiting.values()]);
    this.close();
    for (const { reject } of waiting) reject(new ThreadLost(why));
  }
}

/** Copying a view would copy its whole buffer. */
function compact<Value>(value: Value): Value {
  if (value instanceof Uint8Array || value instanceof Float32Array) {
    return value.byteLength === value.buffer.byteLength ? value : value.slice() as Value;
  }
  if (Array.isArray(value)) return value.map(compact) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, compact(inner)])) as Value;
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./arithmetic_worker.js", import.meta.url)
    : new URL("./arithmetic_worker.ts", import.meta.url);
}
