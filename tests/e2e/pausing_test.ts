/** A miner as a process: pauses and resumes by signal, rotates its log, and ends in order at the system's request. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const ignore = Deno.build.os === "windows"; // it has no such signals

Deno.test({
  name: "Pausing: a miner pauses from one SIGUSR2 to the next, and SIGTERM is not a failure",
  ignore,
  fn: () =>
    withScratchFolder(async (folder) => {
      const { hub, miner, logs } = await startPair(folder);
      await miner.lines.next("roundMerged");
      miner.kill("SIGUSR2");
      assertMatch((await miner.lines.next("paused"))["reason"] as string, /SIGUSR2/);
      assertEquals((await hub.lines.next("nodeLost"))["reason"], "its own rules tell it to pause");
      miner.kill("SIGUSR2");
      await miner.lines.next("resumed");
      await miner.lines.next("stageLoaded");
      await miner.lines.next("roundMerged");
      miner.kill("SIGTERM");
      const { code, stderr } = await miner.ended;
      assertEquals(code, 0, stderr);
      const summary = miner.lines.all.at(-1)!;
      assertEquals([summary.type, summary["finished"], summary["pauses"]], ["summary", false, 1]);
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
      const sizes = [...Deno.readDirSync(logs)].map(({ name }) => Deno.statSync(`${logs}/${name}`).size);
      assert(sizes.length >= 2 && sizes.length <= 3, `${sizes.length} files`);
      for (const size of sizes) assert(size <= 4096, `${size} bytes`);
    }),
});

async function startPair(folder: string): Promise<{ hub: IotaProcess; miner: IotaProcess; logs: string }> {
  const wallets = `${folder}/wallets`;
  const made = await new IotaProcess(["wallet", "new", "--name", "hot", "--wallet-path", wallets]).ended;
  assertEquals(made.code, 0, made.stderr);
  const shape = ["--size", "toy", "--set", "pipeline.stages=1", "--replicas", "1", "--steps", "100000"];
  const hub = new IotaProcess(["orchestrate", ...shape, "--port", "0", "--data", `${folder}/hub`, "--json"]);
  const { url } = await hub.lines.next("listening") as Line & { url: string };
  const logs = `${folder}/miner/logs`;
  const miner = new IotaProcess([
    ...["miner", "--orchestrator", url, "--wallet", "hot", "--wallet-path", wallets, "--device", "cpu"],
    ...["--data", `${folder}/miner`, "--log-file", `${logs}/miner.log`, "--log-bytes", "4096", "--log-keep", "2"],
    "--json",
  ]);
  return { hub, miner, logs };
}

Deno.test("Pausing: a rule that cannot be read is refused before anything is opened", async () => {
  await withScratchFolder(async (folder) => {
    const { code, stderr } = await new IotaProcess(["miner", "--schedule", "22-7", "--data", folder]).ended;
    assertEquals(code, 2);
    assertMatch(stderr, /Cannot use --schedule: its hours must be like 22:00-07:00, but are '22-7'/);
  });
});
