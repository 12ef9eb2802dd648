/** Writing files whole: what is there after a kill at any operation, and the sentence for a disk that refuses. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { realDisk, writeAtomically } from "../../cli/data/disk.ts";
import { UserError } from "../../cli/errors.ts";
import { failingDisk, Killed } from "../support/failing_disk.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

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
    const error = await assertRejects(() => file.write(encode("x")), UserError, "the disk must have room");
    file.close();
    assert(error instanceof UserError && error.next?.includes("Free some space"));
  },
);
