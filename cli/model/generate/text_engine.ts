/**
 * Continues texts together: each call of the model has the next token of every text, and in the rows that are left the
 * beginnings of texts that are still being read (continuous batching). More texts than the model has streams wait.
 *
 * A text that fills its stream goes on with the newest half of its tokens, read again: positions count from the first
 * token, so a window cannot slide by one.
 */

import { assert } from "../../../core/assert.ts";
import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";
import { sampleToken, type Sampling } from "./sampling.ts";
import type { Row, TextModel } from "./text_model.ts";

export interface TextRequest extends Sampling {
  readonly prompt: readonly number[]; // tokens, at least one
  readonly tokens: number; // most new ones
  readonly seed: number;
  /** False: the text ends here. */
  readonly onToken: (token: number) => boolean;
  /** `length`: it has all its tokens; `stop`: it ended itself, or was ended. */
  readonly onEnd: (reason: "stop" | "length") => void;
}

interface OpenText {
  readonly request: TextRequest;
  readonly uniform: () => number;
  readonly stream: number;
  tokens: readonly number[];
  read: number; // of `tokens`, in the cache
  made: number;
}

export class TextEngine {
  readonly #model: TextModel;
  readonly #free: number[];
  readonly #waiting: TextRequest[] = [];
  #texts: OpenText[] = [];

  constructor(model: TextModel) {
    this.#model = model;
    this.#free = Array.from({ length: model.room.streams }, (_, i) => i).reverse();
  }

  get open(): number {
    return this.#texts.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(request: TextRequest): void {
    assert(request.prompt.length > 0, "a text has a first token");
    if (request.tokens === 0) request.onEnd("length");
    else this.#waiting.push(request);
  }

  /** One call of the model, if there is a text. */
  async step(): Promise<void> {
    this.#begin();
    const rows: (Row & { text: OpenText })[] = [];
    for (const text of this.#texts) this.#take(text, { rows, most: 1 });
    for (const text of this.#texts) this.#take(text, { rows, most: this.#model.room.rows });
    if (rows.length === 0) return;
    const logits = await this.#model.next(rows);
    const last = new Map(rows.map(({ text }, i) => [text, i]));
    for (const [text, i] of last) {
      if (text.read === text.tokens.length) this.#continue(text, logits[i]!);
    }
    this.#texts = this.#texts.filter(({ stream }) => !this.#free.includes(stream));
    this.#texts.push(...this.#texts.splice(0, 1)); // another is first where rows do not suffice for all
  }

  #begin(): void {
    while (this.#waiting.length > 0 && this.#free.length > 0) {
      const request = this.#waiting.shift()!;
      const random = openStream(keyOf(request.seed, "generate"));
      const stream = this.#free.pop()!;
      const tokens = request.prompt.slice(-this.#model.room.length);
      this.#texts.push({ request, uniform: () => nextUint32(random) / 2 ** 32, stream, tokens, read: 0, made: 0 });
    }
  }

  #take(text: OpenText, { rows, most }: { rows: (Row & { text: OpenText })[]; most: number }): void {
    const room = Math.min(most, this.#model.room.rows - rows.length);
    for (const token of text.tokens.slice(text.read, text.read + room)) {
      rows.push({ text, stream: text.stream, position: text.read, token });
      text.read += 1;
    }
  }

  #continue(text: OpenText, logits: Float32Array): void {
    const { request } = text;
    const token = sampleToken(logits, { ...request, uniform: text.uniform() });
    if (this.#model.ends.has(token) || !request.onToken(token)) return this.#end(text, "stop");
    text.made += 1;
    if (text.made >= request.tokens) return this.#end(text, "length");
    const { length } = this.#model.room;
    const isFull = text.tokens.length >= length;
    text.tokens = [...isFull ? text.tokens.slice(-Math.ceil(length / 2)) : text.tokens, token];
    if (isFull) text.read = 0;
  }

  #end(text: OpenText, reason: "stop" | "length"): void {
    this.#free.push(text.stream);
    text.request.onEnd(reason);
  }
}
