/** A miner's process keeps serving its links while it loads a large stage: no single wait is a large part of the total. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

/** 34 M parameters in one stage: seconds of making initial values. Two replicas are wanted and one comes: nothing is trained. */
const shape = "pipeline.stages=1,model.width=1024,model.ffnWidth=4096,model.layers=2,model.heads=16,model.kvHeads=8";
const large = ["--size", "toy", "--replicas", "2", "--set", shape];

Deno.test("Large stage: a miner that makes 34 M initial values answers on its port all the while", async () => {
  await withScratchFolder(async (folder) => {
    const { hub, miner, port } = await startPair(folder);
    await miner.lines.next("stageAssigned");
    const startedMs = performance.now();
    const loaded = miner.lines.next("stageLoaded").then(() => performance.now());
    const waits = await askUntil(loaded, `http://127.0.0.1:${port}/`);
    const loadMs = await loaded - startedMs;
    assert(loadMs > 500, `a stage that is loaded within ${loadMs} ms proves nothing`);
    assertLess(Math.max(...waits), loadMs / 4, `${waits.length} answers in ${loadMs} ms`);
    const { node } = await hub.lines.next("nodeReady") as Line & { node: string };
    assertEquals(hub.lines.all.filter(({ type }) => type === "nodeLost").map((line) => line["node"]), []);
    assert(node !== "");
    for (const process of [miner, hub]) {
      process.kill("SIGTERM");
      await process.ended;
    }
  });
});

/** How long each answer took, one request after the other, until then; the last one began before. */
async function askUntil(end: Promise<unknown>, url: string): Promise<number[]> {
  const waits: number[] = [];
  let isOver = false;
  end.finally(() => isOver = true);
  while (!isOver) {
    const askedMs = performance.now();
    const answer = await fetch(url);
    await answer.body?.cancel();
    waits.push(performance.now() - askedMs);
  }
  return waits;
}

async function startPair(folder: string): Promise<{ hub: IotaProcess; miner: IotaProcess; port: number }> {
  const wallets = `${folder}/wallets`;
  const made = await new IotaProcess(["wallet", "new", "--name", "hot", "--wallet-path", wallets]).ended;
  assertEquals(made.code, 0, made.stderr);
  const hub = new IotaProcess(["orchestrate", ...large, "--port", "0", "--data", `${folder}/hub`, "--json"]);
  const { url } = await hub.lines.next("listening") as Line & { url: string };
  const port = freePort();
  const miner = new IotaProcess([
    ...["miner", "--orchestrator", url, "--wallet", "hot", "--wallet-path", wallets, "--device", "cpu"],
    ...["--data", `${folder}/miner`, "--listen", `127.0.0.1:${port}`, "--json"],
  ]);
  return { hub, miner, port };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
