/**
 * The near end of the thread that checks members' signatures. It starts at the first check; if it fails, the rest is
 * checked here.
 */

import type { SignedStatement } from "../../../core/statements/statement.ts";
import { plainChecker, type SignatureChecker } from "./signature_check.ts";
import type { CheckAnswer, CheckRequest } from "./signature_worker.ts";
import type { Verify } from "../../../net/auth/hello.ts";

interface Waiting {
  readonly signed: readonly SignedStatement[];
  readonly done: (areGenuine: readonly boolean[]) => void;
}

export class SignatureThread implements SignatureChecker {
  readonly #run: string;
  readonly #plain: SignatureChecker;
  readonly #warn: (text: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #isOver = false;
  #checks = 0;

  constructor({ run, verify, warn }: { run: string; verify: Verify; warn: (text: string) => void }) {
    this.#run = run;
    this.#plain = plainChecker(run, verify);
    this.#warn = warn;
  }

  check(signed: readonly SignedStatement[]): Promise<readonly boolean[]> {
    if (this.#isOver) return this.#plain.check(signed);
    this.#worker ??= this.#open();
    const { promise, resolve } = Promise.withResolvers<readonly boolean[]>();
    const id = this.#checks++;
    this.#waiting.set(id, { signed, done: resolve });
    this.#worker.postMessage({ id, run: this.#run, signed } satisfies CheckRequest);
    return promise;
  }

  close(): void {
    this.#isOver = true;
    this.#worker?.terminate();
    this.#worker = null;
    this.#waiting.clear();
  }

  #open(): Worker {
    const worker = new Worker(workerUrl(), { type: "module", name: "signatures", deno: { permissions: "none" } });
    worker.onmessage = ({ data: { id, areGenuine } }: MessageEvent<CheckAnswer>) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      waiting?.done(areGenuine);
    };
    worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      this.#fail(event.message);
    };
    return worker;
  }

  #fail(why: string): void {
    this.#warn(
      `The thread that checks signatures stopped (${why}); they are checked beside the orchestrator's other work`,
    );
    const waiting = [...this.#waiting.values()];
    this.close();
    for (const { signed, done } of waiting) this.#plain.check(signed).then(done);
  }
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./signature_worker.js", import.meta.url)
    : new URL("./signature_worker.ts", import.meta.url);
}
