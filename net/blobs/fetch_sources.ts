/** The stores a blob is fetched from, fallbacks last: which are usable, and why the others are not. */

import type { BlobRef } from "../../core/ids.ts";
import { BlobError, type BlobProblem, type BlobStore } from "./blobs.ts";

export interface FetchSource {
  readonly name: string; // for people
  readonly store: BlobStore;
  /** Used only while no other source works well. */
  readonly isFallback: boolean;
}

/** `slow`: it is used less; any other problem: not used for this blob again. */
export interface SourceProblem {
  readonly source: string;
  readonly code: BlobProblem | "slow";
  readonly detail: string;
}

export class FetchSources {
  readonly #live: Set<FetchSource>;
  readonly #onProblem: (problem: SourceProblem) => void;
  readonly #problems: SourceProblem[] = [];

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

  /** A `RangeError`: its blob of this name has another size. Any other error is our own bug and is rethrown. */
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

  error(ref: BlobRef): BlobError {
    const codes = this.#problems.map(({ code }) => code);
    const isMissing = codes.every((code) => code === "missing");
    const code = isMissing ? "missing" : codes.includes("wrongHash") ? "wrongHash" : "unreachable";
    const said = this.#problems.map(({ source, detail }) => `${source}: ${detail}`).join("; ");
    return new BlobError(code, `Cannot fetch blob ${ref.hash}: no source has it intact (${said})`);
  }
}
