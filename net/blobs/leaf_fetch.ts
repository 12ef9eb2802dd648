/**
 * Fetches the leaves of one blob, distributed among the sources that have it.
 *
 * A source that fails or sends a wrong leaf is dropped; a leaf that takes three times the median is also requested from
 * another free source. A leaf's place in the buffer has one writer, and a second request for it uses separate memory.
 * The buffer is not written once it is returned.
 */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { leafHashOf, leafRange } from "../blob_hash.ts";
import { BlobError, type ByteRange, cancelQuietly } from "./blobs.ts";
import type { FetchSource, FetchSources } from "./fetch_sources.ts";
import type { Cancel, Timers } from "../timers.ts";

interface LeafFetchOptions {
  readonly ref: BlobRef;
  readonly leaves: readonly BlobHash[];
  readonly sources: FetchSources;
  readonly concurrency: number;
  readonly timers: Timers;
  readonly onBytes?: (bytes: number) => void;
}

interface Leaf {
  readonly hash: BlobHash;
  readonly range: ByteRange;
  readonly asks: Set<Ask>;
}

interface Ask {
  readonly leaf: Leaf;
  readonly source: FetchSource;
  readonly target: Uint8Array; // in the buffer, or separate if another source is writing there
  readonly isInPlace: boolean;
  readonly startedMs: number;
  reader: ReadableStreamDefaultReader<Uint8Array> | null;
  isOverdue: boolean;
  isOver: boolean;
}

const slowFactor = 3; // multiple of the median
const firstLeafMs = 10_000; // until there is a median
const leastLeafMs = 500; // faster leaves are never slow
const durationsKept = 31;

export class LeafFetch {
  readonly #options: LeafFetchOptions;
  readonly #whole: Uint8Array;
  readonly #wanted: Set<Leaf>;
  readonly #asks = new Set<Ask>();
  readonly #slow = new Set<FetchSource>();
  readonly #result = Promise.withResolvers<Uint8Array>();
  #durationsMs: number[] = [];
  #bytes = 0;
  #cancelTimer: Cancel = () => {};

  constructor(options: LeafFetchOptions) {
    const { leaves, ref } = options;
    this.#options = options;
    this.#whole = new Uint8Array(ref.bytes);
    this.#wanted = new Set(
      leaves.map((hash, leaf) => ({ hash, range: leafRange(leaf, ref.bytes), asks: new Set<Ask>() })),
    );
  }

  run(): Promise<Uint8Array> {
    this.#proceed();
    return this.#result.promise;
  }

  /** Sends every request that is possible now; called whenever something has changed. */
  #proceed(): void {
    const { sources, ref } = this.#options;
    this.#cancelTimer();
    if (this.#wanted.size === 0) return this.#result.resolve(this.#whole);
    if (sources.live.length === 0) return this.#result.reject(sources.error(ref));
    this.#markOverdue();
    for (let next = this.#next(); next !== null; next = this.#next()) this.#start(next);
    const pending = [...this.#asks].filter((ask) => !ask.isOverdue).map((ask) => ask.startedMs);
    if (pending.length === 0) return;
    const dueMs = Math.min(...pending) + this.#limitMs() - this.#options.timers.nowMs();
    this.#cancelTimer = this.#options.timers.after(Math.max(0, dueMs), () => this.#proceed());
  }

  #limitMs(): number {
    const sorted = this.#durationsMs.toSorted((a, b) => a - b);
    const median = sorted[sorted.length >> 1];
    return median === undefined ? firstLeafMs : Math.max(leastLeafMs, slowFactor * median);
  }

  #markOverdue(): void {
    const limitMs = this.#limitMs();
    const nowMs = this.#options.timers.nowMs();
    for (const ask of this.#asks) {
      if (ask.isOverdue || nowMs - ask.startedMs < limitMs) continue;
      ask.isOverdue = true;
      if (this.#slow.has(ask.source)) continue;
      this.#slow.add(ask.source);
      this.#options.sources.slow(ask.source, `a leaf takes more than ${Math.round(limitMs)} ms`);
    }
  }

  /** Null: nothing to do, or no free source. Overdue requests do not use a slot. */
  #next(): { leaf: Leaf; source: FetchSource } | null {
    const { concurrency } = this.#options;
    const underWay = [...this.#asks].filter((ask) => !ask.isOverdue).length;
    if (underWay >= concurrency) return null;
    const sources = this.#serving();
    const share = Math.ceil(concurrency / sources.length);
    const asked = (source: FetchSource) => [...this.#asks].filter((ask) => ask.source === source).length;
    const isSlow = (source: FetchSource) => Number(this.#slow.has(source));
    const free = sources.map((source) => ({ source, asked: asked(source), slow: isSlow(source) }))
      .filter((each) => each.asked < share).sort((a, b) => a.slow - b.slow || a.asked - b.asked);
    for (const { source } of free) {
      const leaf = this.#leafFor(source);
      if (leaf !== null) return { leaf, source };
    }
    return null;
  }

  /** The good sources, or if there are none, the fallback and the slow ones. */
  #serving(): readonly FetchSource[] {
    const { live } = this.#options.sources;
    const good = live.filter((source) => !source.isFallback && !this.#slow.has(source));
    return good.length > 0 ? good : live;
  }

  /** A leaf that no source is sending, otherwise one that is overdue at every source asked. */
  #leafFor(source: FetchSource): Leaf | null {
    let overdue: Leaf | null = null;
    for (const leaf of this.#wanted) {
      if (leaf.asks.size === 0) return leaf;
      const asks = [...leaf.asks];
      if (asks.every((ask) => ask.isOverdue && ask.source !== source)) overdue ??= leaf;
    }
    return overdue;
  }

  #start({ leaf, source }: { leaf: Leaf; source: FetchSource }): void {
    const { start, end } = leaf.range;
    const isInPlace = ![...leaf.asks].some((ask) => ask.isInPlace);
    const ask: Ask = {
      leaf,
      source,
      target: isInPlace ? this.#whole.subarray(start, end) : new Uint8Array(end - start),
      isInPlace,
      startedMs: this.#options.timers.nowMs(),
      reader: null,
      isOverdue: false,
      isOver: false,
    };
    leaf.asks.add(ask);
    this.#asks.add(ask);
    this.#download(ask).then((isWhole) => isWhole && this.#arrived(ask)).catch((error) => this.#failed(ask, error));
  }

  /** False: the leaf is no longer needed. */
  async #download(ask: Ask): Promise<boolean> {
    const { leaf, source, target } = ask;
    const { hash } = this.#options.ref;
    const reader = (await source.store.open(hash, leaf.range)).getReader();
    ask.reader = reader;
    let at = 0;
    while (!ask.isOver) {
      const { done, value } = await reader.read();
      if (ask.isOver) break;
      const isTooMuch = !done && value.length > target.length - at;
      if (isTooMuch || (done && (at < target.length || leafHashOf(target) !== leaf.hash))) {
        throw new BlobError("wrongHash", `Cannot read blob ${hash}: its bytes from ${leaf.range.start} are wrong`);
      }
      if (done) return true;
      target.set(value, at);
      at += value.length;
    }
    cancelQuietly(reader);
    return false;
  }

  #arrived({ leaf, source, target, isInPlace, startedMs }: Ask): void {
    if (!isInPlace) this.#whole.set(target, leaf.range.start);
    const durationMs = this.#options.timers.nowMs() - startedMs;
    if (durationMs < this.#limitMs()) this.#slow.delete(source);
    this.#durationsMs = [...this.#durationsMs, durationMs].slice(-durationsKept);
    this.#wanted.delete(leaf);
    this.#bytes += target.length;
    this.#options.onBytes?.(this.#bytes);
    this.#end(leaf.asks);
    this.#proceed();
  }

  #failed(ask: Ask, error: unknown): void {
    if (ask.isOver) return;
    const { sources } = this.#options;
    this.#end([...this.#asks].filter((other) => other.source === ask.source));
    try {
      sources.drop(ask.source, error);
      this.#proceed();
    } catch (bug) {
      this.#end(this.#asks);
      this.#cancelTimer();
      this.#result.reject(bug);
    }
  }

  #end(asks: Iterable<Ask>): void {
    for (const ask of [...asks]) {
      ask.isOver = true;
      ask.leaf.asks.delete(ask);
      this.#asks.delete(ask);
      if (ask.reader !== null) cancelQuietly(ask.reader);
    }
  }
}
