/** `iota admin` against a real orchestrator with a real miner: pause, rate, remove, stop, and who may not. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Owned {
  readonly run: string; // its folder
  readonly hub: IotaProcess;
  readonly url: string;
  readonly wallet: readonly string[]; // of the miner
  readonly minerWords: readonly string[];
}

async function startRun(folder: string): Promise<Owned> {
  const corpus = await writeSmallCorpus(folder);
  const run = `${folder}/run`;
  const path = ["--wallet-path", `${folder}/wallets`];
  await iota(["wallet", "new", "--name", "hot", ...path]);
  const size = ["--size", "toy", "--replicas", "1", "--validators", "0", "--steps", "100000", "--corpus", corpus];
  const words = ["orchestrate", ...size, "--port", "0", "--data", run, "--json", "--set", "pipeline.stages=1"];
  const hub = new IotaProcess(words);
  const { url } = await hub.lines.next("listening") as { url?: string };
  assert(url !== undefined);
  const wallet = ["--wallet", "hot", ...path];
  const own = ["--data", `${folder}/miner`, "--device", "cpu", "--json"];
  return { run, hub, url, wallet, minerWords: ["miner", "--orchestrator", url, ...wallet, ...own] };
}

const admin = (...asked: string[]) => iota(["admin", ...asked]);

async function done(...asked: string[]): Promise<void> {
  const { code, stderr } = await admin(...asked);
  assertEquals(code, 0, stderr);
}

Deno.test("Admin: the owner pauses a run, sets its rate, removes a node and stops it; nobody else can", async () => {
  await withScratchFolder(async (folder) => {
    const { run, hub, url, wallet, minerWords } = await startRun(folder);
    const miner = new IotaProcess(minerWords);
    const { node } = await hub.lines.next("nodeJoined") as { node?: string };
    await hub.lines.next("stepClosed");

    const stranger = await admin("pause", "--orchestrator", url, ...wallet);
    assertEquals(stranger.code, 1);
    assertMatch(stranger.stderr, /Only the run's signing key, 5\w+, may change the run; the key here is 5\w+/);

    await done("pause", "--run", run);
    assertEquals((await (await fetch(`${url.replace("ws", "http")}/status`)).json()).isPausedByOwner, true);
    assertMatch((await admin("pause", "--run", run)).stderr, /has already paused it/);
    await done("rate", "0.0000002", "--run", run);
    await done("resume", "--run", run);
    for (const action of ["pause", "rate", "resume"]) {
      assertEquals((await hub.lines.next("ownerActed") as { action?: string }).action, action);
    }
    await untilRate(hub, 2e-7);
    assertMatch(await Deno.readTextFile(`${run}/run.toml`), /learningRate = 2e-7/);

    await done("kick", node!, "--run", run);
    assertMatch((await miner.ended).stderr, /the run's owner has removed it/);
    assertMatch((await iota(minerWords)).stderr, /the run's owner has removed it/);

    await done("stop", "--run", run);
    assertEquals((await hub.ended).code, 0);
    const ledger = await Deno.readTextFile(`${run}/ledger.jsonl`);
    assertMatch(ledger.match(/\{"type":"left".*?\}/)?.[0] ?? "", /the run's owner removed it/);
    assertMatch((await admin("stop", "--run", run)).stderr, /No orchestrator answers at http:\S+/);
    await goesOn(run, node!);
  });
});

Deno.test("Admin: the owner's page signs what its key asks for, and a stop after the round waits for the merge", async () => {
  await withScratchFolder(async (folder) => {
    const { run, hub, minerWords } = await startRun(folder);
    const miner = new IotaProcess(minerWords);
    await hub.lines.next("stepClosed");
    const page = new IotaProcess(["admin", "page", "--run", run, "--port", "0", "--json"]);
    const { url } = await page.lines.next("page") as { url?: string };
    const [, origin, key] = /^(http:\/\/127\.0\.0\.1:\d+)\/#owner=([0-9a-f]{64})$/.exec(url ?? "") ?? [];
    const ask = async (request: unknown, shown = key!) => {
      const headers = { "x-iota-owner": shown };
      const response = await fetch(`${origin}/owner`, { method: "POST", headers, body: JSON.stringify(request) });
      return { status: response.status, ...await response.json() as { text?: string; detail?: string } };
    };
    assertEquals((await ask({ action: "pause" }, "0".repeat(64))).status, 401);
    assertMatch((await ask({ action: "pause" })).text ?? "", /The run is paused/);
    const status = await (await fetch(`${origin}/status`)).json();
    assertEquals([status.isPausedByOwner, typeof status.runId], [true, "string"]);
    assertMatch((await ask({ action: "pause" })).detail ?? "", /has already paused it/);
    assertMatch((await ask({ action: "resume" })).text ?? "", /goes on/);
    assertMatch((await ask({ action: "stopAfterRound" })).text ?? "", /when the open round is merged/);
    assertEquals((await hub.ended).code, 0);
    const records = (await Deno.readTextFile(`${run}/records.jsonl`)).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const types = records.flatMap(({ record }) => record === undefined ? [] : [record.type as string]);
    const asked = types.lastIndexOf("ownerActed");
    const merged = types.indexOf("roundMerged", asked);
    assert(merged > asked, "it stops at a merge");
    assertEquals(types.indexOf("stepClosed", merged), -1, "no step follows");
    assertMatch((await ask({ action: "resume" })).detail ?? "", /No orchestrator answers/);
    page.kill("SIGINT");
    assertEquals((await page.ended).code, 0);
    miner.kill("SIGINT");
    await miner.ended;
  });
});

/** Steps that were under way may still have the old one. */
async function untilRate(hub: IotaProcess, most: number): Promise<void> {
  for (let step = 0; step < 5; step++) {
    const { learningRate } = await hub.lines.next("stepClosed") as { learningRate?: number };
    if (learningRate! <= most) return;
  }
  throw new Error(`no step with a learning rate of at most ${most}`);
}

/** The next process replays what was asked of this one, and still knows who was removed. */
async function goesOn(run: string, removed: string): Promise<void> {
  const hub = new IotaProcess(["orchestrate", "--data", run, "--port", "0", "--json"]);
  await hub.lines.next("listening");
  await done("admit", removed, "--run", run);
  await done("stop", "--run", run);
  const { code, stderr } = await hub.ended;
  assertEquals(code, 0, stderr);
}
