/** The disk store keeps the promises of every blob store, and those about folders, full disks and stopped processes. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { BlobHash } from "../../core/ids.ts";
import { type BlobFile, DiskBlobs, type DiskBlobsOptions } from "../../net/blobs/blob_disk.ts";
import type { LostBlob } from "../../net/blobs/blobs.ts";
import { hashOf, leafHashesOf } from "../../net/blob_hash.ts";
import { assertProblem, localBlobSuite, suiteCapacity } from "./blobs_suite.ts";
import { varied } from "../support/net/varied_bytes.ts";
import { testWhere } from "../support/test_where.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "iota-blobs-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const open = (folder: string, options: Partial<DiskBlobsOptions> = {}) =>
  DiskBlobs.open({ ...suiteCapacity, folder, ...options });

localBlobSuite("a folder", async () => {
  const folder = await Deno.makeTempDir({ prefix: "iota-blobs-" });
  return { store: await open(folder), locates: "file", close: () => Deno.remove(folder, { recursive: true }) };
});

Deno.test("Blobs in a folder: they outlive the process, its leftovers do not", () =>
  withFolder(async (folder) => {
    const bytes = varied(100_000, 1);
    const ref = await (await open(folder)).put(bytes);
    await Deno.writeFile(`${folder}/incoming/99.part`, varied(5_000, 2)); // as after kill -9
    const again = await open(folder);
    assertEquals(await again.get(ref.hash), bytes);
    assertEquals(again.usage(), { blobs: 1, bytes: 100_000 });
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/incoming`)), []);
  }));

Deno.test("Blobs in a folder: bytes that changed on the disk are handed out to no end, then never again", () =>
  withFolder(async (folder) => {
    const lost: LostBlob[] = [];
    const store = await open(folder, { onLost: (blob) => lost.push(blob) });
    const reads = [
      (hash: BlobHash) => store.get(hash),
      async (hash: BlobHash) => await Array.fromAsync(await store.open(hash)),
    ];
    for (const read of reads) {
      const ref = await store.put(varied(100_000, 1));
      const path = `${folder}/${ref.hash.slice(0, 2)}/${ref.hash}`;
      await Deno.writeFile(path, varied(100_000, 2));
      await assertProblem(() => read(ref.hash), "wrongHash");
      assertEquals(lost.splice(0), [{ ref, why: "damaged" }]);
      await assertProblem(() => read(ref.hash), "missing");
      assertEquals([await store.find(ref.hash), store.usage()], [null, { blobs: 0, bytes: 0 }]);
    }
  }));

Deno.test("Blobs in a folder: a missing or truncated file is not a blob, and the same bytes can be stored again", () =>
  withFolder(async (folder) => {
    const lost: LostBlob[] = [];
    const store = await open(folder, { onLost: (blob) => lost.push(blob) });
    const bytes = varied(100_000, 1);
    const ref = await store.put(bytes);
    const path = `${folder}/${ref.hash.slice(0, 2)}/${ref.hash}`;
    const losses = [
      { lose: () => Deno.remove(path), why: "gone" },
      { lose: () => Deno.truncate(path, 99_999), why: "damaged" },
      { lose: () => Deno.truncate(path, 100_001), why: "damaged" },
    ] as const;
    for (const { lose, why } of losses) {
      for (const look of [() => store.find(ref.hash), () => store.leaves(ref.hash), () => store.put(bytes)]) {
        await lose();
        await look();
        assertEquals(lost.splice(0), [{ ref, why }]);
        assertEquals(await store.put(bytes), ref);
        assertEquals([await store.get(ref.hash), store.usage()], [bytes, { blobs: 1, bytes: 100_000 }]);
      }
      await lose();
      await assertProblem(() => store.get(ref.hash), "missing");
      await store.put(bytes);
      lost.length = 0;
    }
    assertEquals([await store.delete(ref.hash), lost], [true, []]);
  }));

Deno.test("Blobs in a folder: a leaf list that is torn or gone is made again, and goes with its blob", () =>
  withFolder(async (folder) => {
    const bytes = varied(1_500_000, 1);
    const { hash } = await (await open(folder)).put(bytes);
    const path = `${folder}/${hash.slice(0, 2)}/${hash}.leaves`;
    const list = await Deno.readFile(path);
    for (
      const damage of [
        () => Deno.truncate(path, 40),
        () => Deno.writeFile(path, list.toReversed()),
        () => Deno.remove(path),
      ]
    ) {
      await damage();
      assertEquals(await (await open(folder)).leaves(hash), leafHashesOf(bytes));
      assertEquals(await Deno.readFile(path), list);
    }
    await Deno.remove(path.replace(".leaves", "")); // as when a removal was interrupted
    const store = await open(folder);
    assertEquals([await store.leaves(hash), store.usage()], [null, { blobs: 0, bytes: 0 }]);
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/${hash.slice(0, 2)}`)), []);
    await store.put(bytes);
    await store.delete(hash);
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/${hash.slice(0, 2)}`)), []);
  }));

Deno.test("Blobs in a folder: a file that is taken over is renamed, not copied, and refused where there is no room", () =>
  withFolder(async (folder) => {
    const store = await open(`${folder}/blobs`);
    const path = `${folder}/arrived`;
    const bytes = varied(1_500_000, 1);
    await Deno.writeFile(path, bytes);
    const { ino } = await Deno.stat(path);
    const { hash } = await store.adoptFile(path);
    const location = await store.locate(hash);
    assertEquals(location?.type === "file" && (await Deno.stat(location.path)).ino, ino);
    const full = await open(`${folder}/full`, { capacityBytes: 1_000_000 });
    await Deno.writeFile(path, bytes);
    await assertProblem(() => full.adoptFile(path, hash), "noSpace");
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort(), ["blobs", "full"]);
  }));

/** Every write fails as on a full disk, by way of the system's own full device. */
async function fullDisk(path: string): Promise<BlobFile> {
  const [part, device] = [await Deno.create(path), await Deno.open("/dev/full", { write: true })];
  return {
    write: (bytes) => device.write(bytes),
    sync: () => device.sync(),
    close: () => [part, device].forEach((file) => file.close()),
  };
}

const noFullDisk = Deno.build.os === "linux" ? null : "only Linux has /dev/full";
testWhere(
  noFullDisk,
  "Blobs in a folder: a full disk is a sentence with the next step, and nothing is left",
  () =>
    withFolder(async (folder) => {
      const store = await open(folder, { createFile: fullDisk });
      const message = await assertProblem(() => store.put(varied(1_000, 1)), "diskFull");
      assertStringIncludes(message, `in ${folder}: the disk is full; free some space or choose another data folder`);
      assertEquals(await store.find(hashOf(varied(1_000, 1))), null);
      assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/incoming`)), []);
    }),
);

Deno.test("Blobs in a folder: a folder that cannot be used is refused at once", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "in the way");
    const message = await assertProblem(() => open(`${folder}/file/blobs`), "storage");
    assertStringIncludes(message, `Cannot use ${folder}/file/blobs for blobs: `);
    assertStringIncludes(message, "choose another data folder");
  }));
