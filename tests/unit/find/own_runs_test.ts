/** The runs on this machine: what `iota runs --own` lists, and which one a command without --run takes. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { lockFolder } from "../../../cli/files/folder_lock.ts";
import { main } from "../../../cli/command_line.ts";
import { writeSavedRun } from "../../../cli/files/saved_run.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

interface MadeRun {
  readonly folder: string;
  readonly atMinute: number;
  readonly records?: readonly Record<string, unknown>[];
}

async function makeRun({ folder, atMinute, records = [] }: MadeRun): Promise<void> {
  const config = resolveConfig(
    { size: "toy", overrides: { "train.steps": 12 } },
  );
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  await Deno.mkdir(folder, { recursive: true });
  await writeSavedRun(folder, {
    ...{ runId: `run-${atMinute}`, config: config.config, host: null, port: null, hub: null },
    ...{ tokenizerHash: null, from: null, options: {} },
  });
  const lines = records.map((record, i) => JSON.stringify({ sequence: i + 1, atMs: 0, record }));
  await Deno.writeTextFile(`${folder}/records.jsonl`, lines.map((line) => `${line}\n`).join(""));
  await Deno.writeTextFile(`${folder}/run.toml`, "");
  const at = new Date(Date.UTC(2026, 0, 1, 0, atMinute));
  for await (const { name } of Deno.readDir(folder)) await Deno.utime(`${folder}/${name}`, at, at);
}

const step = (number: number, loss: number) => ({ type: "stepClosed", step: number, loss });
const finished = (step: number, finished: boolean) => ({ type: "runFinished", step, finished, reason: "" });

async function iota(words: readonly string[]) {
  const host = new FakeHost();
  const code = await main(words, host);
  const lines = host.written.stdout.trimEnd().split("\n");
  return { code, stdout: host.written.stdout, stderr: host.written.stderr, lines, held: host.held };
}

/** A stopped, a finished and a running run, and one that was put aside. */
async function makeRuns(data: string): Promise<void> {
  await makeRun({ folder: `${data}/runs/stopped`, atMinute: 2, records: [step(4, 5), step(5, 4.5)] });
  await makeRun({ folder: `${data}/runs/done`, atMinute: 3, records: [step(12, 3.25), finished(12, true)] });
  await makeRun({
    folder: `${data}/runs/done/put-aside-1-run`,
    atMinute: 1,
    records: [step(6, 4), step(8, 3), { type: "rewound", toStep: 6 }],
  });
  await makeRun({ folder: `${data}/runs/now`, atMinute: 4 });
  await Deno.mkdir(`${data}/runs/none`);
}

Deno.test("Own runs: all are listed, the newest first, with steps, loss and state, also one put aside", () =>
  withScratchFolder(async (data) => {
    await makeRuns(data);
    const lock = lockFolder(`${data}/runs/now`, { command: "swarm", port: null, handed: null });
    const { code, lines, held } = await iota(["runs", "--own", "--data", data, "--json"]);
    lock.close();
    const found = lines.map((line) => JSON.parse(line));
    assertEquals(code, 0);
    assertEquals(found.pop(), { type: "summary", runs: 4, running: 1, newest: `${data}/runs/now` });
    const row = (folder: string, minute: number) => ({
      ...{ type: "ownRun", folder: `${data}/runs/${folder}`, run: `run-${minute}`, size: "toy" },
      ...{ steps: 12, at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString() },
    });
    assertEquals(found, [
      { ...row("now", 4), step: null, loss: null, state: "running" },
      { ...row("done", 3), step: 12, loss: 3.25, state: "finished" },
      { ...row("stopped", 2), step: 5, loss: 4.5, state: "stopped" },
      { ...row("done/put-aside-1-run", 1), step: 6, loss: 4, state: "stopped" },
    ]);
    const { read, write } = held.at(-1)!;
    assertEquals(write, []);
    assertEquals([read.includes(`${data}/runs`), read.includes(data)], [true, false], "no more than the runs");
    const { stdout } = await iota(["runs", "--own", "--data", data]);
    assertMatch(stdout, /\/runs\/done +toy +step 12 of 12 +loss 3\.250 +finished +20\d\d-/);
  }));

const ends: readonly { what: string; records: readonly Record<string, unknown>[]; row: RegExp }[] = [
  { what: "killed before its last merge", records: [], row: /step 12 of 12 +loss 3\.000 +stopped/ },
  { what: "stopped there", records: [finished(12, false)], row: /step 12 of 12 +loss 3\.000 +stopped/ },
  {
    what: "its only round lost",
    records: [{ type: "mergeRetaken", step: 0 }, finished(0, false)],
    row: /step 0 of 12 +no loss yet +stopped/,
  },
  { what: "over", records: [finished(12, true), { type: "textSampled" }], row: /step 12 of 12 +loss 3\.000 +finished/ },
  {
    what: "taken up again without its parameters",
    records: [finished(12, true), { type: "takenUp", step: 0 }],
    row: /step 0 of 12 +no loss yet +stopped/,
  },
];

for (const { what, records, row } of ends) {
  Deno.test(`Own runs: a run at its last step is finished once its end is recorded (${what})`, () =>
    withScratchFolder(async (data) => {
      await makeRun({ folder: `${data}/runs/run`, atMinute: 1, records: [step(12, 3), ...records] });
      assertMatch((await iota(["runs", "--own", "--data", data])).stdout, row);
    }));
}

Deno.test("Own runs: where none is, the list says how to begin one", () =>
  withScratchFolder(async (data) => {
    const { code, stdout } = await iota(["runs", "--own", "--data", data]);
    assertEquals([code, stdout], [0, "No run is on this machine: begin one with iota swarm\n"]);
  }));

Deno.test("Own runs: a command without --run takes the newest and says so on stderr; its rights are that run's", () =>
  withScratchFolder(async (data) => {
    await makeRuns(data);
    for (const words of [["verify"], ["explain", "miner-0"], ["dashboard", "--export", `${data}/page.html`]]) {
      const { code, stderr, held } = await iota([...words, "--data", data]);
      assertEquals(code, 1, "that run holds nothing yet");
      assertStringIncludes(stderr, `taking the newest of this machine, ${data}/runs/now`);
      assertMatch(stderr, /error .*runs\/now/);
      if (words[0] === "dashboard") assertEquals(held.at(-1)!.read.includes(`${data}/runs/now`), true);
    }
    const named = await iota(["verify", "--run", `${data}/runs/stopped`, "--data", data]);
    assertMatch(named.stderr, /signed log in '\S+stopped\/ledger.jsonl'/);
    assertEquals(named.stderr.includes("No run was named"), false);
    assertEquals((await iota(["verify", "a", "--run", "b"])).code, 2);
    assertEquals((await iota(["generate", "--data", `${data}/runs/none`])).code, 1);
  }));

Deno.test("Own runs: the owner's requests go to the run that runs, and to none where several do", () =>
  withScratchFolder(async (data) => {
    await makeRuns(data);
    const ask = async () => await iota(["admin", "pause", "--data", data]);
    assertEquals((await ask()).code, 2, "nothing runs");
    const lock = lockFolder(`${data}/runs/stopped`, { command: "swarm", port: null, handed: null });
    assertStringIncludes((await ask()).stderr, `taking the one that runs on this machine, ${data}/runs/stopped`);
    const other = lockFolder(`${data}/runs/now`, { command: "swarm", port: null, handed: null });
    const several = await ask();
    assertEquals(several.code, 2);
    assertMatch(several.stderr, /Several runs are running/);
    lock.close();
    other.close();
  }));
