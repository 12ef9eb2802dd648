/** A miner as a process whose device is lost in mid-step: it goes on with another, and the run does not notice. */

import { assertEquals, assertMatch } from "@std/assert";
import { noGpuReason } from "../support/gpu_adapter.ts";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const losing = { entry: "tests/support/losing/losing_iota.ts" };

/** An orchestrator of one stage with one miner, whose compute workers lose their device as the queries say. */
async function startPair({ folder, lose }: { folder: string; lose: string }) {
  const wallets = `${folder}/wallets`;
  const made = await new IotaProcess(["wallet", "new", "--name", "hot", "--wallet-path", wallets]).ended;
  assertEquals(made.code, 0, made.stderr);
  const shape = [
    "--size",
    "toy",
    "--set",
    "pipeline.stages=1",
    "--replicas",
    "1",
    "--validators",
    "0",
    "--steps",
    "15",
  ];
  const hub = new IotaProcess(["orchestrate", ...shape, "--port", "0", "--data", `${folder}/hub`, "--json"]);
  const { url } = await hub.lines.next("listening") as Line & { url: string };
  const miner = new IotaProcess(
    [
      ...["miner", "--orchestrator", url, "--wallet", "hot", "--wallet-path", wallets, "--device", "webgpu"],
      ...["--data", `${folder}/miner`, "--json"],
    ],
    { IOTA_TEST_LOSE: lose },
    losing,
  );
  return { hub, miner };
}

const missing = noGpuReason;

testWhere(
  missing,
  "Device loss: a miner's device is lost in mid-round, and right after, and its thread later, and the run loses nothing",
  () =>
    withScratchFolder(async (folder) => {
      const { hub, miner } = await startPair({ folder, lose: "lose=60 lose=15 crash=40" });
      const { code, stderr } = await miner.ended;
      assertEquals(code, 0, stderr);
      const { finished, deviceLosses } = miner.lines.all.at(-1)!;
      assertEquals([finished, deviceLosses], [true, 3]);
      assertEquals(miner.lines.count("deviceLost"), 3);
      assertMatch(miner.lines.all.find(({ type }) => type === "deviceLost")!["reason"] as string, /device was lost/);
      const end = await hub.ended;
      assertEquals(end.code, 0, end.stderr);
      const { steps, microbatchesLost, stageHashesAgree } = hub.lines.all.at(-1)!;
      assertEquals({ steps, microbatchesLost, stageHashesAgree }, {
        steps: 15,
        microbatchesLost: 0,
        stageHashesAgree: true,
      });
      assertEquals(hub.lines.count("nodeLost"), 0);
    }),
);

testWhere(
  missing,
  "Device loss: a miner whose device is lost three times without a task ends with the next command",
  () =>
    withScratchFolder(async (folder) => {
      const { hub, miner } = await startPair({ folder, lose: "lose=30 lose=3 lose=3 lose=3" });
      const { code, stderr } = await miner.ended;
      assertEquals(code, 1, stderr);
      assertMatch(stderr, /was lost 3 times without finishing a task in between. The last time: .*device was lost/);
      assertMatch(stderr, /next.*--device cpu/);
      assertEquals(miner.lines.count("deviceLost"), 2);
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
    }),
);
