/**
 * Fetches one blob from several stores: a small one from the first good source, a large one leaf by leaf from all.
 *
 * Everything is verified against the blob's name and size before use, so no source has to be trusted.
 */

import { assert } from "../../core/assert.ts";
import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { areLeavesOf, hashOf, leafCount } from "../blob_hash.ts";
import { BlobError, type BlobStore, missing, tooLarge } from "./blobs.ts";
import { type FetchSource, FetchSources, type SourceProblem } from "./fetch_sources.ts";
import { LeafFetch } from "./leaf_fetch.ts";
import type { Timers } from "../timers.ts";

interface BlobFetchOptions {
  readonly ref: BlobRef;
  readonly sources: readonly FetchSource[];
  readonly concurrency: number; // over all sources
  readonly blobBytes: number;
  readonly timers: Timers;
  readonly onProblem: (problem: SourceProblem) => void;
  readonly onBytes?: (bytes: number) => void;
}

/** For a small blob or a leaf list: far more than a good source needs, far less than the timeout for a dead one. */
const patienceMs = 5_000;

export async function fetchBlob(options: BlobFetchOptions): Promise<Uint8Array> {
  const { ref, concurrency, blobBytes, timers, onBytes = () => {} } = options;
  assert(options.sources.length > 0, "fetchBlob needs a source");
  assert(concurrency >= 1, `'concurrency' must be at least 1, and is ${concurrency}`);
  if (ref.bytes > blobBytes) throw tooLarge({ limit: blobBytes, value: ref.bytes });
  const sources = new FetchSources(options.sources, options.onProblem);
  const from = { ref, sources, timers };
  if (leafCount(ref.bytes) === 1) return await firstAnswer(from, wholeOf);
  const leaves = await firstAnswer(from, leavesOf);
  return await new LeafFetch({ ...from, leaves, concurrency, onBytes }).run();
}

type Ask<T> = (store: BlobStore, ref: BlobRef) => Promise<T>;

async function wholeOf(store: BlobStore, ref: BlobRef): Promise<Uint8Array> {
  const bytes = await store.get(ref.hash);
  if (bytes.length === ref.bytes && hashOf(bytes) === ref.hash) return bytes;
  throw new BlobError("wrongHash", `Cannot read blob ${ref.hash}: the bytes received do not match its hash`);
}

async function leavesOf(store: BlobStore, ref: BlobRef): Promise<readonly BlobHash[]> {
  const leaves = await store.leaves(ref.hash);
  if (leaves === null) throw missing(ref.hash, "that store");
  if (areLeavesOf(leaves, ref)) return leaves;
  throw new BlobError(
    "wrongHash",
    `Cannot read blob ${ref.hash} of ${ref.bytes} bytes: its leaves have another hash`,
  );
}

function firstAnswer<T>(
  from: { ref: BlobRef; sources: FetchSources; timers: Timers },
  ask: Ask<T>,
): Promise<T> {
  const { ref, sources, timers } = from;
  const answer = Promise.withResolvers<T>();
  const waiting = [...sources.live];
  let isOver = false;
  let cancel = () => {};
  const askNext = () => {
    cancel();
    if (sources.live.length === 0) return end(() => answer.reject(sources.error(ref)));
    const source = waiting.shift();
    if (source === undefined) return; // sources already asked may still answer
    cancel = timers.after(patienceMs, () => {
      sources.slow(source, `no answer within ${patienceMs} ms`);
      askNext();
    });
    ask(source.store, ref).then(
      (value) => end(() => answer.resolve(value)),
      (error) => isOver || fail(source, error),
    );
  };
  const fail = (source: FetchSource, error: unknown) => {
    try {
      sources.drop(source, error);
      askNext();
    } catch (bug) {
      end(() => answer.reject(bug));
    }
  };
  const end = (settle: () => void) => {
    isOver = true;
    cancel();
    settle();
  };
  askNext();
  return answer.promise;
}
