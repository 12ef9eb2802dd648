/** Jobs on as many threads as the machine has cores, or here if they are few. Results come in the jobs' order. */

import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { TokenBytes } from "../data/token_file.ts";
import { type EncodedJob, type EncodeJob, encodeJob } from "./encode_job.ts";

export interface Encoding {
  readonly tokenizer: Tokenizer;
  readonly tokenizerFile: Uint8Array;
  readonly tokenBytes: TokenBytes;
}

/** A worker's first message; every other one is a job. */
export interface EncodeBegin {
  readonly tokenizerFile: Uint8Array;
  readonly endOfText: number;
  readonly tokenBytes: TokenBytes;
}

export async function* encodeInOrder(
  jobs: Iterable<EncodeJob>,
  encoding: Encoding,
  threads: number,
): AsyncGenerator<EncodedJob> {
  if (threads <= 1) {
    for (const job of jobs) {
      yield encodeJob(job, encoding);
      await new Promise((resolve) => setTimeout(resolve)); // a key or signal may be waiting
    }
    return;
  }
  const workers = Array.from({ length: threads }, () => new EncodeWorker(encoding));
  try {
    const waiting: Promise<EncodedJob>[] = [];
    let next = 0;
    for (const job of jobs) {
      if (waiting.length === 2 * threads) yield await waiting.shift()!; // as many are in memory
      waiting.push(workers[next++ % threads]!.encode(job));
    }
    for (const encoded of waiting) yield await encoded;
  } finally {
    for (const worker of workers) worker.close();
  }
}

/** Answers in the order of its jobs. */
class EncodeWorker {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<EncodedJob>[] = [];

  constructor({ tokenizer: { endOfText }, tokenizerFile, tokenBytes }: Encoding) {
    this.#worker = new Worker(workerUrl(), {
      ...{ type: "module", name: "encode" },
      deno: { permissions: "none" },
    });
    this.#worker.onmessage = ({ data }: MessageEvent<EncodedJob>) => this.#waiting.shift()?.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(event.message));
    };
    this.#worker.postMessage({ tokenizerFile, endOfText, tokenBytes } satisfies EncodeBegin);
  }

  encode(job: EncodeJob): Promise<EncodedJob> {
    const waiting = Promise.withResolvers<EncodedJob>();
    waiting.promise.catch(() => {/* whoever reads the results in order sees it */});
    this.#waiting.push(waiting);
    this.#worker.postMessage(job, [job.text.buffer]);
    return waiting.promise;
  }

  close(): void {
    this.#worker.terminate();
  }
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./encode_worker.js", import.meta.url)
    : new URL("./encode_worker.ts", import.meta.url);
}
