/** The lock of a run's folder: everything is written behind it, by a process that has seen the folder as it is. */

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { isRunHeld, lockFolder, refuseHeldFolder } from "../../../cli/files/folder_lock.ts";
import type { RunPlan } from "../../../cli/orchestrator/run/plan_run.ts";
import { takeRunFolder } from "../../../cli/orchestrator/run/prepare_run.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { exists, folderMark } from "../../../cli/files/run_folder.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const silent = {
  output: { event: () => {}, line: () => {} },
  environment: { get: () => undefined },
} as unknown as CommandContext;

/** As a start plans that has read the folder and written nothing. */
async function planOf(path: string, putsAside = false): Promise<RunPlan> {
  return { folder: { path, isResumed: false }, mark: await folderMark(path), putsAside } as RunPlan;
}

const take = (plan: RunPlan, port: number | null = 9009) =>
  takeRunFolder(silent, plan, { command: port === null ? "swarm" : "orchestrate", port });

Deno.test("Folder lock: the second of two starts on a new folder writes nothing, and names the first", async () => {
  await withScratchFolder(async (root) => {
    const folder = `${root}/new`;
    const [first, second] = [await planOf(folder), await planOf(folder)];
    const lock = await take(first);
    const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
    const { message, next } = await assertRejects(() => take(second), UserError);
    assertMatch(message, new RegExp(`in use by iota orchestrate, process ${Deno.pid}, which listens at port 9009`));
    assertMatch(next ?? "", /--data DIR/);
    assertEquals([names, Array.from(Deno.readDirSync(folder), ({ name }) => name)], [["run.lock"], ["run.lock"]]);
    assertThrows(() => refuseHeldFolder(folder, null), UserError, `process ${Deno.pid}`);
    lock.close();
    refuseHeldFolder(folder, null);
    refuseHeldFolder(`${root}/missing`, null);
  });
});

Deno.test("Folder lock: a start whose view of the folder is out of date is refused, also once the folder is free again", async () => {
  await withScratchFolder(async (folder) => {
    const [first, second] = [await planOf(folder), await planOf(folder)];
    const lock = await take(first, null);
    await Deno.writeTextFile(`${folder}/run.json`, "{}");
    lock.close();
    await assertRejects(() => take(second), UserError, "Another process has just begun or resumed a run in");
    (await take(await planOf(folder))).close(); // which the refused one does not hold
  });
});

Deno.test("Folder lock: who was handed the holder's token may write too, and its port is named from then on", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.lock`;
    const parent = lockFolder(folder, { command: "swarm", port: null, handed: null });
    const { token: handed } = parent;
    refuseHeldFolder(folder, handed);
    lockFolder(folder, { command: "orchestrate", port: 4711, handed }).close();
    const { command, pid, port, token } = JSON.parse(await Deno.readTextFile(path));
    assertEquals([command, pid, port, token], ["swarm", Deno.pid, 4711, handed]);
    await Deno.writeTextFile(path, "{");
    assertThrows(() => lockFolder(folder, { command: "orchestrate", port: 1, handed }), UserError, "another process");
    parent.close();
  });
});

Deno.test("Folder lock: a holder with the process id of a start's parent has not handed it anything", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.lock`;
    const holder = await Deno.open(path, { read: true, write: true, create: true });
    await holder.lock(true);
    for (const token of [undefined, null, "the holder's"]) {
      await Deno.writeTextFile(path, JSON.stringify({ command: "orchestrate", pid: Deno.ppid, port: 9009, token }));
      for (const handed of [null, "another"]) {
        const ask = () => lockFolder(folder, { command: "orchestrate", port: 4711, handed });
        assertThrows(ask, UserError, "which listens at port 9009");
        assertThrows(() => refuseHeldFolder(folder, handed), UserError, `process ${Deno.ppid}`);
      }
    }
    holder.close();
  });
});

Deno.test("Folder lock: a folder, a link or a pipe in its place is refused in a sentence, and listing runs does not wait", async () => {
  const makes: Record<string, (path: string) => void> = {
    "a folder": (path) => Deno.mkdirSync(path),
    "a link": (path) => Deno.symlinkSync("/nonexistent/x", path),
    "neither a file nor a folder": (path) => new Deno.Command("mkfifo", { args: [path] }).outputSync(),
  };
  for (const [found, make] of Object.entries(makes)) {
    await withScratchFolder((folder) => {
      make(`${folder}/run.lock`);
      const ask = () => lockFolder(folder, { command: "orchestrate", port: 1, handed: null });
      assertThrows(ask, UserError, `run.lock' is ${found}`);
      assertThrows(() => refuseHeldFolder(folder, null), UserError, found);
      assertEquals(isRunHeld(folder), false);
      return Promise.resolve();
    });
  }
});

Deno.test("Folder lock: a run is put aside whole, with the tokens and keys that the next run uses as well", async () => {
  await withScratchFolder(async (folder) => {
    for (const part of ["dataset", "wallets/orchestrator/hotkeys", "checkpoints/round-000003", "uploads"]) {
      await Deno.mkdir(`${folder}/${part}`, { recursive: true });
    }
    const files = ["run.toml", "run.json", "summary.json", "journal.db", "records.jsonl.1", "put-aside-1-journal.db"];
    for (const name of [...files, "dataset/tokenizer.json", "wallets/orchestrator/hotkeys/default", "mine.txt"]) {
      await Deno.writeTextFile(`${folder}/${name}`, name);
    }
    (await take(await planOf(folder, true))).close();
    const aside = `${folder}/put-aside-2-run`;
    const whole = [
      ...files,
      "dataset/tokenizer.json",
      "wallets/orchestrator/hotkeys/default",
      "checkpoints/round-000003",
    ];
    for (const name of whole) assert(await exists(`${aside}/${name}`), name);
    for (const name of files) assertEquals(await exists(`${folder}/${name}`), false, name);
    for (const name of ["dataset/tokenizer.json", "wallets/orchestrator/hotkeys/default", "mine.txt"]) {
      assert(await exists(`${folder}/${name}`), name);
    }
    await Deno.writeTextFile(`${folder}/run.toml`, "the next");
    (await take(await planOf(folder, true))).close();
    assertEquals(await Deno.readTextFile(`${folder}/put-aside-3-run/run.toml`), "the next");
    assertEquals(await Deno.readTextFile(`${aside}/run.toml`), "run.toml", "the earlier one stays where it is");
  });
});
