/** A journal that another process has taken over: the first one writes nothing more, whatever it believes of its lock. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { JournalError } from "../../../cli/files/journal_error.ts";
import { epochPath } from "../../../cli/orchestrator/journal/journal_epoch.ts";
import { HubJournal } from "../../support/hub_journal.ts";
import { append, bytes, failure, identity, maxBytes, open, textsOf } from "../../support/swarm/journal_samples.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";

const root = new URL("../../../", import.meta.url);
const other = `
  import { Journal } from "${new URL("cli/orchestrator/journal/journal.ts", root).href}";
  const { journal, recovered } = Journal.open({ path: Deno.args[0], identity: ${
  JSON.stringify(identity)
}, maxBytes: ${maxBytes} });
  journal.append([{ nowMs: 1, event: new TextEncoder().encode("other") }]);
  console.log(recovered.entries.length);
  if (Deno.args[1] === "close") journal.close(); // else its log is left beside the file
  Deno.exit();
`;

/** Another process opens the journal, appends an entry and ends. Returns how many entries it found. */
async function takeOver(path: string, end: "close" | "die"): Promise<number> {
  await Deno.readFile(path); // closing any handle of the file drops this process's locks, as POSIX has it
  const program = `${path}.ts`;
  await Deno.writeTextFile(program, other);
  const config = new URL("deno.json", root).pathname;
  const args = ["run", "--quiet", "--no-check", "--allow-all", "--config", config, program, path, end];
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert(success, new TextDecoder().decode(stderr));
  return Number(new TextDecoder().decode(stdout));
}

const filesOf = (path: string) =>
  Promise.all(["", "-wal"].map((suffix) => Deno.readFile(`${path}${suffix}`).catch(() => null)));

for (const end of ["close", "die"] as const) {
  Deno.test(`Journal: taken over by a process that then ${end === "close" ? "closes" : "dies"}, it writes nothing more`, () =>
    withMemoryFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      const { journal } = open(path);
      journal.snapshot(bytes("state"));
      append(journal, 0, 3);
      assertEquals(await takeOver(path, end), 3);
      const before = await filesOf(path);
      for (const write of [() => append(journal, 3, 4), () => journal.snapshot(new Uint8Array(2 ** 23))]) {
        const { code, message } = failure(write);
        assertEquals(code, "fenced");
        assertStringIncludes(
          message,
          "its epoch is 2, not 1, so another process",
        );
      }
      journal.close();
      assertEquals(await filesOf(path), before, "closing it writes nothing either");
      const copy = `${folder}/copy.db`; // a process of its own would open the file itself
      for (const suffix of ["", "-wal"]) await Deno.copyFile(path + suffix, copy + suffix).catch(String);
      const { journal: again, recovered } = open(copy);
      assertEquals([textsOf(recovered), recovered.cut], [["event 0", "event 1", "event 2", "other"], null]);
      append(again, 5, 6);
      again.close();
    }));
}

Deno.test("Journal: every opening has a higher epoch, one behind the file is not a way back, one that is gone fences", () =>
  withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const epoch = () => Deno.readTextFileSync(epochPath(path)).trim();
    const found: string[] = [];
    for (let opening = 0; opening < 3; opening++) {
      const { journal } = open(path);
      found.push(epoch());
      if (opening === 1) await Deno.remove(epochPath(path));
      if (opening === 1) assertStringIncludes(failure(() => append(journal, 0, 1)).message, "its epoch is gone");
      journal.close();
      if (opening === 1) break; // its file is abandoned
    }
    assertEquals(found, ["1", "2"]);
    const copy = `${folder}/next.db`;
    open(copy).journal.close();
    await Deno.writeTextFile(epochPath(copy), "7\n");
    open(copy).journal.close();
    await Deno.remove(epochPath(copy));
    open(copy).journal.close();
    assertEquals(Deno.readTextFileSync(epochPath(copy)), "9\n", "the journal's file remembers it too");
  }));

const threaded = `
  import { JournalThread } from "${new URL("cli/orchestrator/journal/journal_thread.ts", root).href}";
  const { thread } = await JournalThread.open({
    ...{ path: Deno.args[0], identity: ${JSON.stringify(identity)}, maxBytes: ${maxBytes}, onSnapshotWanted() {} },
  });
  const append = () => thread.append([{ nowMs: 1, event: new Uint8Array(9) }], { round: 0, step: 0 }).durable.promise;
  thread.snapshot(new Uint8Array(9), { round: 0, step: 0 });
  await append();
  console.log("ready");
  await Deno.stdin.read(new Uint8Array(1));
  console.log(await append().then(() => "written", (error) => error.code));
  await thread.close();
  Deno.exit();
`;

Deno.test("Journal: taken over while a thread writes it, nothing is written to its end, not even when the process exits", () =>
  withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    await Deno.writeTextFile(`${path}.ts`, threaded);
    const config = new URL("deno.json", root).pathname;
    const args = ["run", "--quiet", "--no-check", "--allow-all", "--config", config, `${path}.ts`, path];
    const child = new Deno.Command(Deno.execPath(), { args, stdin: "piped", stdout: "piped" }).spawn();
    const said = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assertEquals((await said.read()).value, "ready\n");
    const before = await filesOf(path);
    const mark = await Deno.readTextFile(`${path}.mark`);
    await Deno.writeTextFile(epochPath(path), "2\n");
    const stdin = child.stdin.getWriter();
    await stdin.write(new Uint8Array([10]));
    assertEquals((await said.read()).value, "fenced\n");
    assert((await child.status).success);
    await stdin.close().catch(String);
    await said.cancel();
    assertEquals([await filesOf(path), await Deno.readTextFile(`${path}.mark`)], [before, mark]);
  }));

Deno.test("Orchestrator journal: a fenced one leaves its mark alone", () =>
  withMemoryFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = HubJournal.open({ path, identity, maxBytes });
    await Deno.writeTextFile(epochPath(path), "2\n");
    const state = { round: 1, step: 1 } as Parameters<typeof journal.begin>[0];
    const error = failure(() => journal.begin(state, 0));
    assert(error instanceof JournalError && error.code === "fenced");
    journal.close();
    assertEquals(await Deno.stat(`${path}.mark`).catch(() => null), null);
  }));
