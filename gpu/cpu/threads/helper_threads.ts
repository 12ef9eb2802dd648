/**
 * Starts helper threads and outlives them. A compute worker may not read the program's code, so its owner starts them
 * (../../worker_client.ts). `terminate` does not end a sleeping thread, so boards are closed first.
 */

import type { FromHelper, HelperOrder, ToHelper } from "./helper_messages.ts";
import { JobBoard, ThreadError } from "./job_board.ts";

export class HelperThreads {
  readonly #code: URL;
  readonly #running = new Map<Worker, JobBoard>();

  constructor(code: URL = workerUrl()) {
    this.#code = code;
  }

  async start({ helpers, ...order }: HelperOrder): Promise<void> {
    const board = new JobBoard(helpers + 1, order.board);
    await Promise.all(
      Array.from(
        { length: helpers },
        (_, i) => this.#startOne({ index: i + 1, threads: helpers + 1, ...order }, board),
      ),
    );
  }

  close(): void {
    for (const [worker, board] of this.#running) {
      board.close();
      worker.terminate();
    }
    this.#running.clear();
  }

  #startOne(message: ToHelper, board: JobBoard): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker = new Worker(this.#code, { type: "module", name: "helper", deno: { permissions: "none" } });
    this.#running.set(worker, board);
    const end = () => {
      worker.terminate();
      this.#running.delete(worker);
    };
    const failed = (reason: string) => {
      board.fail(reason);
      end();
      reject(new ThreadError(`Cannot start a thread of a stage: ${reason}`));
    };
    worker.onmessage = ({ data }: MessageEvent<FromHelper>) => data.type === "ready" ? resolve() : end();
    worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      failed(event.message);
    };
    worker.onmessageerror = () => failed("it sent a message that cannot be read");
    worker.postMessage(message);
    return promise;
  }
}

/** End with their stage. */
export const startHelpers = (order: HelperOrder): Promise<void> => new HelperThreads().start(order);

/** A bundle has its workers as JavaScript beside it. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./helper_worker.js", import.meta.url)
    : new URL("./helper_worker.ts", import.meta.url);
}
