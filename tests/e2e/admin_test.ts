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
  const own = ["--data", `${folder}/miner`, "--device", "reference", "--json"];
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
    assertMatch(stranger.stderr, /Cannot act on the run as only the key that signs it may, 5\w+: the key here is 5\w+/);

    await done("pause", "--run", run);
    assertEquals((await (await fetch(`${url.replace("ws", "http")}/status`)).json()).isPausedByOwner, true);
    assertMatch((await admin("pause", "--run", run)).stderr, /must be going on/);
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
    assertMatch((await admin("stop", "--run", run)).stderr, /its orchestrator must answer at http:\S+: it does not/);
    await goesOn(run, node!);
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
