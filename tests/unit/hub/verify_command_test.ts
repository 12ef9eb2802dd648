/** What `iota verify` and `iota explain` say of files that are no log, and of a log without lines, which proves nothing. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { commandTable } from "../../../cli/command_table.ts";
import { main } from "../../../cli/main.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

Deno.test("Signed log: a file that is none is named by its first line, and a head of nonsense is no head", () =>
  withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/ledger.jsonl`, "root:x:0\n");
    await Deno.writeTextFile(`${folder}/ledger.jsonl.head`, "null");
    const host = new FakeHost();
    assertEquals(await main(["verify", folder], host, commandTable), 1);
    assertEquals(host.written.stdout.trim(), "The first wrong line is 1: it is not a line of a log");
  }));

Deno.test("Signed log: one without lines is refused, as one that is missing", () =>
  withScratchFolder(async (folder) => {
    for (const words of [["verify", folder], ["explain", "miner-0", "--run", folder]]) {
      for (const content of [null, ""]) {
        if (content !== null) await Deno.writeTextFile(`${folder}/ledger.jsonl`, content);
        const host = new FakeHost();
        assertEquals(await main(words, host, commandTable), 1, words.join(" "));
        assertStringIncludes(host.written.stderr, "must exist and have lines");
        assertEquals(host.written.stdout, "");
        if (content !== null) await Deno.remove(`${folder}/ledger.jsonl`);
      }
    }
  }));
