/** Leaving for a new version: when it is noticed, and when the node leaves. */

import { assertEquals } from "@std/assert";
import { identityOf, UpgradeWatch } from "../../../cli/files/long_run.ts";
import { idle } from "../../support/idle.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

async function world({ isIdle = false } = {}) {
  const timers = new ManualTimers();
  const said: string[] = [];
  const file: { is: string | null } = { is: "old" };
  const watch = await UpgradeWatch.open({
    timers,
    identify: () => Promise.resolve(file.is),
    isIdle: () => isIdle,
    onReplaced: () => said.push("replaced"),
    leave: () => said.push("leave"),
  });
  const look = async () => {
    timers.advance(30_000);
    await idle();
  };
  return { timers, said, file, watch: watch!, look };
}

Deno.test("Upgrade: a new file is noticed when it has settled, and left for at the end of the round", async () => {
  const { said, file, watch, look } = await world();
  await look();
  watch.roundEnded();
  file.is = null; // between removal and rename
  await look();
  file.is = "new, in part";
  await look();
  file.is = "new";
  await look();
  assertEquals(said, []);
  await look();
  assertEquals(said, ["replaced"]);
  watch.roundEnded();
  watch.roundEnded();
  await look();
  assertEquals(said, ["replaced", "leave"]);
});

Deno.test("Upgrade: an idle node stops at once, one waiting in vain for a round's end stops later", async () => {
  const resting = await world({ isIdle: true });
  resting.file.is = "new";
  await resting.look();
  await resting.look();
  assertEquals(resting.said, ["replaced", "leave"]);
  const stuck = await world();
  stuck.file.is = "new";
  await stuck.look();
  await stuck.look();
  stuck.timers.advance(599_000);
  assertEquals(stuck.said, ["replaced"]);
  stuck.timers.advance(1_000);
  assertEquals(stuck.said, ["replaced", "leave"]);
});

Deno.test("Upgrade: a file that is restored unchanged is not a new version", async () => {
  const { said, file, look } = await world();
  file.is = null;
  await look();
  file.is = "old";
  await look();
  await look();
  assertEquals(said, []);
});

Deno.test("Upgrade: a file put in place by a rename is another one", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/iota`;
    const identify = identityOf(path);
    assertEquals(await identify(), null);
    Deno.writeTextFileSync(path, "version 1");
    const first = await identify();
    Deno.writeTextFileSync(`${path}.new`, "version 2");
    Deno.renameSync(`${path}.new`, path);
    assertEquals([await identify() === first, await identify() === await identify()], [false, true]);
  });
});
