/** One person's runs on one machine, one after the other, on the same port; and a node that gives up with the cure at hand. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";

Deno.test("Same port: the next run takes the same miner command, which warns; a wrong way of speaking names the cure", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const wallet = ["--wallet", "hot", "--wallet-path", `${folder}/wallets`];
    await iota(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]);
    const lead = async (name: string, port: string) => {
      const size = ["--size", "toy", "--replicas", "1", "--validators", "0", "--steps", "2", "--corpus", corpus];
      const words = ["orchestrate", ...size, "--port", port, "--data", `${folder}/${name}`, "--json"];
      const hub = new IotaProcess([...words, "--set", "pipeline.stages=1"]);
      const { url } = await hub.lines.next("listening") as { url?: string };
      assert(url !== undefined);
      return { hub, url };
    };
    const own = ["--data", `${folder}/miner`, "--device", "cpu"];
    const first = await lead("first", "0");
    const miner = ["miner", "--orchestrator", first.url, ...wallet, ...own];
    const wrong = first.url.replace("ws:", "wss:");
    const hasty = await iota(["miner", "--orchestrator", wrong, ...wallet, ...own, "--give-up-after", "0"]);
    assertEquals(hasty.code, 1, hasty.stderr);
    assertMatch(hasty.stderr, new RegExp(`needs a port with TLS[\\s\\S]*next {2}Use --orchestrator ${first.url}`));
    const before = await iota(miner);
    assertEquals(before.code, 0, before.stderr);
    assertEquals((await first.hub.ended).code, 0);
    const second = await lead("second", new URL(first.url).port);
    assertEquals(second.url, first.url);
    const after = await iota(miner);
    assertEquals(after.code, 0, after.stderr);
    assertMatch(after.stderr, /this address led to another orchestrator, 5\w+, \(remembered in .*\/hubs\//);
    assertEquals(before.stderr.includes("was met at"), false);
    assertEquals((await second.hub.ended).code, 0);
  });
});

Deno.test("Same folder: of two starts at once one leads the run and can be resumed; the other names it; --fresh keeps the run", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const data = ["--data", `${folder}/run`, "--port", "0", "--json"];
    const begin = () => new IotaProcess(["orchestrate", "--size", "toy", "--corpus", corpus, ...data]);
    const starts = [begin(), begin()];
    const refused = await Promise.race(starts.map(async (start) => ({ start, ...await start.ended })));
    const survivor = starts.find((start) => start !== refused.start)!;
    await survivor.lines.next("listening");
    assertEquals(refused.code, 1, refused.stderr);
    const wording = new RegExp(`in use by iota orchestrate, process ${survivor.pid}|has begun or resumed a run there`);
    assertMatch(refused.stderr, wording);
    survivor.kill("SIGTERM");
    assertEquals((await survivor.ended).code, 0);
    const run = survivor.lines.all.find((line) => line.type === "listening")?.["run"];
    const resumed = new IotaProcess(["orchestrate", ...data]);
    assertEquals((await resumed.lines.next("listening"))["run"], run);
    resumed.kill("SIGTERM");
    await resumed.ended;
    const fresh = new IotaProcess(["orchestrate", "--size", "toy", "--corpus", corpus, "--fresh", ...data]);
    const { run: aside } = await fresh.lines.next("runPutAside") as { run?: string };
    assert((await fresh.lines.next("listening"))["run"] !== run);
    fresh.kill("SIGTERM");
    await fresh.ended;
    const again = new IotaProcess(["orchestrate", "--data", `${aside}`, "--port", "0", "--json"]);
    assertEquals((await again.lines.next("listening"))["run"], run);
    again.kill("SIGTERM");
    await again.ended;
  });
});
