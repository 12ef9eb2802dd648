/** A text's tokens as pieces of text: whole characters, and nothing from the first stop string on. */

import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";

export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #stops: readonly string[];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #held: number; // characters that may begin a stop string
  #pending = "";
  #isStopped = false;

  constructor(tokenizer: Tokenizer, stops: readonly string[]) {
    this.#tokenizer = tokenizer;
    this.#stops = stops.filter((stop) => stop !== "");
    this.#held = Math.max(0, ...this.#stops.map((stop) => stop.length - 1));
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Text that is certain by now. */
  take(token: number): string {
    return this.#add(this.#decoder.decode(this.#tokenizer.bytesOf(token), { stream: true }), this.#held);
  }

  /** What was held back. */
  end(): string {
    return this.#add(this.#decoder.decode(), 0);
  }

  #add(text: string, held: number): string {
    if (this.#isStopped) return "";
    this.#pending += text;
    const found = this.#stops.map((stop) => this.#pending.indexOf(stop)).filter((at) => at >= 0);
    this.#isStopped = found.length > 0;
    const end = this.#isStopped ? Math.min(...found) : Math.max(0, this.#pending.length - held);
    const piece = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    return piece;
  }
}
