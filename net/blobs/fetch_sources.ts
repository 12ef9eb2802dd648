/**
 * The stores a blob is fetched from: which still serve, and what is held against the others.
 *
 * Owns: the order (fallbacks last), dropping, the report of each problem, and the error when nobody is left. Refuses: asking.
 */

import type { BlobRef } from "../../core/ids.ts";
import { BlobError, type BlobProblem, type BlobStore } from "./blobs.ts";

export interface FetchSource {
  readonly name: string; // for people, an address
  readonly store: BlobStore;
  /** Asked only while no other source serves well. */
  readonly isFallback: boolean;
}

/** `slow`: it is asked less; anything else: it is not asked for this blob again. */
export interface SourceProblem {
  readonly source: string;
  readonly code: BlobProblem | "slow";
  readonly detail: string;
}

export class FetchSources {
  readonly #live: Set<FetchSource>;
  readonly #onProblem: (problem: SourceProblem) => void;
  readonly #problems: SourceProblem[] = []; // of those dropped

  constructor(sources: readonly FetchSource[], onProblem: (problem: SourceProblem) => void) {
    const isFallback = (source: FetchSource) => source.isFallback;
    this.#live = new Set([...sources.filter((source) => !source.isFallback), ...sources.filter(isFallback)]);
    this.#onProblem = onProblem;
  }

  get live(): readonly FetchSource[] {
    return [...this.#live];
  }

  has(source: FetchSource): boolean {
    return this.#live.has(source);
  }

  /** A `RangeError`: its blob of this name has another size. Any other error is our own bug, and stays one. */
  drop(source: FetchSource, error: unknown): void {
    if (!(error instanceof BlobError || error instanceof RangeError)) throw error;
    const code = error instanceof BlobError ? error.code : "wrongHash";
    const problem = { source: source.name, code, detail: error.message };
    this.#live.delete(source);
    this.#problems.push(problem);
    this.#onProblem(problem);
  }

  slow(source: FetchSource, detail: string): void {
    this.#onProblem({ source: source.name, code: "slow", detail });
  }

  /** When none is left: all lacked it, or one lied, or they cannot be reached. */
  error(ref: BlobRef): BlobError {
    const codes = this.#problems.map(({ code }) => code);
    const isMissing = codes.every((code) => code === "missing");
    const code = isMissing ? "missing" : codes.includes("wrongHash") ? "wrongHash" : "unreachable";
    const said = this.#problems.map(({ source, detail }) => `${source}: ${detail}`).join("; ");
    return new BlobError(code, `Cannot fetch blob ${ref.hash} as no source has it in good order: ${said}`);
  }
}
