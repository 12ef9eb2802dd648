/** What every blob store promises; run by blobs_memory_test.ts, blobs_disk_test.ts and blobs_http_test.ts. */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { blobHash } from "../../core/ids.ts";
import { hashOf, leafHashesOf } from "../../net/blob_hash.ts";
import {
  BlobError,
  type BlobLocation,
  type BlobProblem,
  type BlobStore,
  type ByteStream,
  collect,
  type LocalBlobStore,
} from "../../net/blobs/blobs.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { varied } from "../support/net/varied_bytes.ts";

export const suiteCapacity = { blobBytes: 2_000_000, capacityBytes: 5_000_000 };

export interface OpenedStore<S> {
  readonly store: S;
  /** Where its blobs are located, and how an address is asked. */
  readonly locates: BlobLocation["type"] | "nowhere";
  readonly fetch?: typeof fetch;
  close(): Promise<void>;
}

export type OpenStore<S> = () => Promise<OpenedStore<S>>;

const absent = blobHash("0".repeat(64));

export async function assertProblem(body: () => Promise<unknown>, code: BlobProblem): Promise<string> {
  const error = await assertRejects(body, BlobError);
  assertEquals(error.code, code, error.message);
  return error.message;
}

/** `bytes` in pieces, then the end, or a failure of the source. */
export function streamOf(bytes: Uint8Array, { fails = false } = {}): ByteStream {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at += 10_007));
      else if (fails) controller.error(new Error("the feeder broke"));
      else controller.close();
    },
  });
}

type Check<S> = (behaviour: string, body: (store: S, opened: OpenedStore<S>) => Promise<void>) => void;

function checker<S>(name: string, open: OpenStore<S>): Check<S> {
  return (behaviour, body) => {
    Deno.test(`Blobs in ${name}: ${behaviour}`, async () => {
      const opened = await open();
      try {
        await body(opened.store, opened);
      } finally {
        await opened.close();
      }
    });
  };
}

export function blobSuite<S extends BlobStore>(name: string, open: OpenStore<S>): void {
  const check = checker(name, open);
  readingCases(check);
  locatingCases(check);
  adoptingCases(check);
  refusalCases(check);
}

function locatingCases(check: Check<BlobStore>): void {
  check(
    "a location gives the bytes without the store, a new one each time, and there is none of what is not there",
    async (
      store,
      opened,
    ) => {
      for (const bytes of [new Uint8Array(0), varied(1_400_000, 13)]) {
        const { hash } = await store.put(bytes);
        for (let time = 0; time < 2; time++) {
          const location = await store.locate(hash);
          assertEquals(location?.type ?? "nowhere", opened.locates);
          if (location !== null) assertEquals(await bytesAt(location, opened.fetch), bytes);
        }
      }
      assertEquals(await store.locate(absent), null);
    },
  );
}

async function bytesAt(location: BlobLocation, ask: typeof fetch = fetch): Promise<Uint8Array> {
  if (location.type === "file") return await Deno.readFile(location.path);
  const response = await ask(location.url, { headers: location.headers });
  assertEquals(response.status, 200);
  return new Uint8Array(await response.arrayBuffer());
}

function adoptingCases(check: Check<BlobStore>): void {
  check(
    "a file is taken over as a blob, with or without a name it must have, and is gone",
    (store) =>
      withScratchFolder(async (folder) => {
        const path = `${folder}/arrived`;
        for (const bytes of [new Uint8Array(0), varied(70_000, 14), varied(1_400_000, 15)]) {
          for (const expected of [hashOf(bytes), undefined]) {
            await Deno.writeFile(path, bytes);
            assertEquals(await store.adoptFile(path, expected), { hash: hashOf(bytes), bytes: bytes.length });
            assertEquals(await store.get(hashOf(bytes)), bytes);
            assertEquals([...Deno.readDirSync(folder)], []);
          }
        }
      }),
  );

  check(
    "a file of other bytes, or too large, is refused and gone as well",
    (store) =>
      withScratchFolder(async (folder) => {
        const path = `${folder}/arrived`;
        const refusals = [[50_000, "wrongHash"], [suiteCapacity.blobBytes + 1, "tooLarge"]] as const;
        for (const [size, code] of refusals) {
          const bytes = varied(size, 16);
          await Deno.writeFile(path, bytes);
          await assertProblem(() => store.adoptFile(path, absent), code);
          assertEquals([await store.find(absent), await store.find(hashOf(bytes))], [null, null]);
          assertEquals([...Deno.readDirSync(folder)], []);
        }
      }),
  );
}

function readingCases(check: Check<BlobStore>): void {
  check("bytes and streams come back under their hash", async (store) => {
    for (const bytes of [new Uint8Array(0), varied(1, 1), varied(300_001, 2)]) {
      const ref = await store.put(bytes);
      assertEquals(ref, { hash: hashOf(bytes), bytes: bytes.length });
      assertEquals(await store.get(ref.hash), bytes);
    }
    const streamed = varied(1_500_000, 3);
    const ref = await store.put(streamOf(streamed), hashOf(streamed));
    assertEquals(ref.bytes, 1_500_000);
    assertEquals(hashOf(await store.get(ref.hash)), ref.hash);
  });

  check("find returns the size, or null for a missing blob", async (store) => {
    const ref = await store.put(varied(77, 1));
    assertEquals(await store.find(ref.hash), ref);
    assertEquals(await store.find(absent), null);
  });

  check("reading a missing blob fails with `missing`", async (store) => {
    await assertProblem(() => store.get(absent), "missing");
    await assertProblem(() => store.open(absent), "missing");
    await assertProblem(() => store.open(absent, { start: 0, end: 1 }), "missing");
  });

  check("open gives the whole or a range, and refuses one outside", async (store) => {
    const bytes = varied(700_000, 4);
    const { hash } = await store.put(bytes);
    assertEquals(hashOf(await collect(await store.open(hash), 700_000)), hash);
    for (const [start, end] of [[0, 1], [0, 700_000], [699_999, 700_000], [300_000, 650_001]] as const) {
      assertEquals(await collect(await store.open(hash, { start, end }), end - start), bytes.subarray(start, end));
    }
    assertEquals(await collect(await store.open(hash, { start: 5, end: 5 }), 0), new Uint8Array(0));
    for (const [start, end] of [[0, 700_001], [-1, 3], [5, 4], [0.5, 3]] as const) {
      await assertRejects(() => store.open(hash, { start, end }), RangeError, "must lie in 0 to 700000");
    }
  });

  check("leaves match the bytes, one per mebibyte, or null for a missing blob", async (store) => {
    for (const size of [0, 5, 1_048_576, 1_048_577, 2_000_000]) {
      const bytes = varied(size, size);
      const { hash } = await store.put(bytes);
      assertEquals(await store.leaves(hash), leafHashesOf(bytes), `${size} bytes`);
    }
    assertEquals(await store.leaves(absent), null);
  });

  check("a reader that stops early harms nothing", async (store) => {
    const { hash } = await store.put(varied(1_000_000, 4));
    const stream = await store.open(hash);
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    assertEquals((await store.get(hash)).length, 1_000_000);
  });
}

function refusalCases(check: Check<BlobStore>): void {
  check("bytes of another hash are refused and not kept", async (store) => {
    const bytes = varied(50_000, 5);
    const message = await assertProblem(() => store.put(bytes, absent), "wrongHash");
    assertStringIncludes(message, hashOf(bytes));
    await assertProblem(() => store.put(streamOf(bytes), absent), "wrongHash");
    assertEquals([await store.find(absent), await store.find(hashOf(bytes))], [null, null]);
  });

  check("a blob above blobBytes is refused, from bytes and from a stream", async (store) => {
    const bytes = new Uint8Array(suiteCapacity.blobBytes + 1);
    const message = await assertProblem(() => store.put(bytes), "tooLarge");
    assertStringIncludes(message, "'blobBytes' must be at most 2000000, and is 2000001");
    await assertProblem(() => store.put(streamOf(bytes)), "tooLarge");
    assertEquals(await store.find(hashOf(bytes)), null);
  });

  check("a stream that breaks leaves nothing behind", async (store) => {
    const bytes = varied(60_000, 6);
    await assertRejects(() => store.put(streamOf(bytes, { fails: true })), Error, "the feeder broke");
    assertEquals(await store.find(hashOf(bytes)), null);
    assertEquals((await store.put(bytes)).bytes, 60_000);
  });

  check("a large stream is stored under the name it must have, and no other", async (store) => {
    const bytes = varied(1_400_000, 12);
    await assertProblem(() => store.put(streamOf(bytes), absent), "wrongHash");
    await assertRejects(() => store.put(streamOf(bytes, { fails: true }), hashOf(bytes)), Error, "the feeder broke");
    assertEquals([await store.find(absent), await store.find(hashOf(bytes))], [null, null]);
    assertEquals(await store.put(streamOf(bytes), hashOf(bytes)), { hash: hashOf(bytes), bytes: 1_400_000 });
    assertEquals(await store.get(hashOf(bytes)), bytes);
  });

  check("the same bytes can be stored by many at once", async (store) => {
    const bytes = varied(200_000, 7);
    const refs = await Promise.all(Array.from({ length: 6 }, () => store.put(bytes, hashOf(bytes))));
    assert(refs.every((ref) => ref.hash === hashOf(bytes)));
    assertEquals(await store.get(hashOf(bytes)), bytes);
  });

  check("a full store says so and keeps what it has", async (store) => {
    const kept = await store.put(varied(1_900_000, 8));
    await store.put(varied(1_900_000, 9));
    assertStringIncludes(await assertProblem(() => store.put(varied(1_900_000, 10)), "noSpace"), "'capacityBytes'");
    assertEquals(hashOf(await store.get(kept.hash)), kept.hash);
    assertEquals((await store.put(varied(1_000, 11))).bytes, 1_000);
  });
}

export function localBlobSuite<S extends LocalBlobStore>(name: string, open: OpenStore<S>): void {
  blobSuite(name, open);
  const check = checker(name, open);

  check("list, usage and delete agree", async (store) => {
    const refs = [
      await store.put(varied(10, 1)),
      await store.put(varied(20, 2)),
      await store.put(new Uint8Array(0)),
    ];
    await store.put(varied(10, 1)); // again: counts once
    const listed = await Array.fromAsync(store.list());
    assertEquals(listed.map(({ hash }) => hash).sort(), refs.map(({ hash }) => hash).sort());
    assertEquals(store.usage(), { blobs: 3, bytes: 30 });
    assertEquals(await store.delete(refs[1]!.hash), true);
    assertEquals(await store.delete(refs[1]!.hash), false);
    assertEquals(await store.delete(refs[2]!.hash), true);
    assertEquals(store.usage(), { blobs: 1, bytes: 10 });
    assertEquals(await store.find(refs[1]!.hash), null);
  });

  check("many at once of the same bytes count once", async (store) => {
    await Promise.all(Array.from({ length: 6 }, () => store.put(varied(100_000, 1))));
    assertEquals(store.usage(), { blobs: 1, bytes: 100_000 });
  });
}
