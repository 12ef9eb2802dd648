/**
 * Texts for many clients from one model: the engine's loop, with a bounded queue. A client that leaves frees its place at
 * the next token.
 */

import { TextEngine } from "../generate/text_engine.ts";
import type { TextModel } from "../generate/text_model.ts";
import { type CompletionRequest, RequestProblem } from "./completion_request.ts";
import { TextStream } from "../generate/text_stream.ts";

export interface TextEnd {
  readonly reason: "stop" | "length";
  readonly tokens: number; // new ones
}

export class TextService {
  readonly model: TextModel;
  readonly #engine: TextEngine;
  readonly #mostWaiting: number;
  readonly #onFailed: (error: unknown) => void;
  readonly #ends = new Set<(error: unknown) => void>(); // of open texts
  #isRunning = false;
  tokens = 0; // made since it began
  requests = 0;

  constructor(model: TextModel, options: { mostWaiting: number; onFailed: (error: unknown) => void }) {
    this.model = model;
    this.#engine = new TextEngine(model);
    this.#mostWaiting = options.mostWaiting;
    this.#onFailed = options.onFailed;
  }

  get open(): number {
    return this.#engine.open;
  }

  get waiting(): number {
    return this.#engine.waiting;
  }

  /** Rejects with a `RequestProblem` if too many wait, or with the device's failure. */
  async complete(
    request: CompletionRequest,
    { onText, signal }: { onText: (piece: string) => void; signal: AbortSignal },
  ): Promise<TextEnd> {
    if (this.#engine.waiting >= this.#mostWaiting) {
      throw new RequestProblem(`${this.#engine.waiting} requests wait already: try again in a moment`, { status: 429 });
    }
    this.requests += 1;
    const stream = new TextStream(this.model.tokenizer, request.stops);
    const { promise, resolve, reject } = Promise.withResolvers<TextEnd>();
    this.#ends.add(reject);
    let tokens = 0;
    const tell = (piece: string) => piece !== "" && onText(piece);
    this.#engine.add({
      ...request,
      onToken: (token) => {
        tokens += 1;
        this.tokens += 1;
        tell(stream.take(token));
        return !stream.isStopped && !signal.aborted;
      },
      onEnd: (reason) => {
        tell(stream.end());
        resolve({ reason, tokens });
      },
    });
    this.#run();
    return await promise.finally(() => this.#ends.delete(reject));
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#loop().catch((error) => {
      for (const reject of this.#ends) reject(error);
      this.#onFailed(error);
    }).finally(() => this.#isRunning = false);
  }

  async #loop(): Promise<void> {
    while (this.#engine.open + this.#engine.waiting > 0) {
      await this.#engine.step();
      await new Promise((resolve) => setTimeout(resolve)); // requests and answers in between
    }
  }
}
