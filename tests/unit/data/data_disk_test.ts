/** Atomic writes: the content after a kill at any operation, and the message for a disk error. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { realDisk, writeAtomically } from "../../../cli/files/disk.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { failingDisk, Killed } from "../../support/failing_disk.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testWhere } from "../../support/test_where.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const isLinux = Deno.build.os === "linux";

Deno.test("writeAtomically: after a kill at any operation the file is the old one or the new one", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/file.txt`;
    const chunks = [encode("new "), encode("content")];
    const counting = failingDisk(Infinity);
    await writeAtomically(path, { disk: counting, chunks });
    const seen = new Set<string>();
    for (let survives = 0; survives < counting.operations; survives++) {
      Deno.writeTextFileSync(path, "old");
      await assertRejects(() => writeAtomically(path, { disk: failingDisk(survives), chunks }), Killed);
      seen.add(Deno.readTextFileSync(path));
    }
    assertEquals(seen, new Set(["old", "new content"]));
  });
});

Deno.test("realDisk: a file in the way of a folder is refused by path", async () => {
  await withScratchFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/file`, "");
    await assertRejects(() => realDisk.createFolder(`${folder}/file`), UserError, `${folder}/file`);
    await assertRejects(() => realDisk.createFolder(`${folder}/file/inner`), UserError, `${folder}/file/inner`);
    await assertRejects(() => realDisk.create(`${folder}/none/file`), UserError, `${folder}/none/file`);
    await realDisk.remove(`${folder}/none`);
  });
});

testWhere(
  isLinux ? null : "only Linux has /dev/full",
  "realDisk: a full disk is refused with the next step",
  async () => {
    const file = await realDisk.create("/dev/full");
    const error = await assertRejects(() => file.write(encode("x")), UserError, "the disk is full");
    file.close();
    assert(error instanceof UserError && error.next?.includes("Free some space"));
  },
);

Deno.test("writeAtomically: one write inside another of the same file takes nothing from it", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/shared.json`;
    const write = (chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) =>
      writeAtomically(path, { disk: realDisk, chunks });
    await write(async function* () {
      yield encode("out");
      await write([encode("inner")]);
      assertEquals(Deno.readTextFileSync(path), "inner");
      yield encode("er");
    }());
    assertEquals(Deno.readTextFileSync(path), "outer");
    assertEquals(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["shared.json"]);
  });
});

Deno.test("writeAtomically: a write that fails leaves nothing, and a missing folder is named with what makes it", async () => {
  await withScratchFolder(async (folder) => {
    const failing = async function* () {
      yield encode("half");
      await Promise.reject(new UserError("no more"));
    };
    await assertRejects(
      () => writeAtomically(`${folder}/file`, { disk: realDisk, chunks: failing() }),
      UserError,
      "no more",
    );
    assertEquals(Array.from(Deno.readDirSync(folder)), []);
    const path = `${folder}/none here/file`;
    const error = await assertRejects(
      () => writeAtomically(path, { disk: realDisk, chunks: [encode("x")] }),
      UserError,
      `'${path}': its folder does not exist`,
    );
    assertEquals(error.next, `Create the folder: mkdir -p '${folder}/none here'`);
  });
});

Deno.test("writeAtomically: leftovers of a killed process are removed after an hour, and nothing else is", async () => {
  await withScratchFolder(async (folder) => {
    const left = async (name: string, minutes: number) => {
      await Deno.writeTextFile(`${folder}/${name}`, "");
      const then = new Date(Date.now() - minutes * 60_000);
      await Deno.utime(`${folder}/${name}`, then, then);
    };
    await left("file.0123456789ab.partial", 61);
    await left("file.ba9876543210.partial", 5);
    await left("download.partial", 600);
    await Deno.mkdir(`${folder}/folder.0123456789ab.partial`);
    await writeAtomically(`${folder}/file`, { disk: realDisk, chunks: [encode("x")] });
    const names = Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
    assertEquals(names, ["download.partial", "file", "file.ba9876543210.partial", "folder.0123456789ab.partial"]);
  });
});
