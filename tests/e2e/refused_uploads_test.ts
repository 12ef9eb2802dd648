/** A run behind a proxy that answers 413 to uploads: no round counts, everybody is told why, and the run goes on once it passes. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { RefusingProxy } from "../support/net/refusing_proxy.ts";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function behindProxy(folder: string, port: number, proxy: RefusingProxy) {
  const settings = [
    'name = "behind"\nsize = "toy"',
    "[pipeline]\nstages = 2",
    "[swarm]\nreplicas = 1\nvalidators = 0",
    "[train]\nsteps = 2\nstepsPerRound = 1",
    `[data]\ncorpus = "${await writeSmallCorpus(folder)}"`,
    `[hub]\nport = ${port}\npublicAddress = "ws://127.0.0.1:${proxy.port}"`,
  ];
  await Deno.writeTextFile(`${folder}/run.toml`, `${settings.join("\n")}\n`);
  const hub = new IotaProcess(["orchestrate", "--config", `${folder}/run.toml`, "--data", `${folder}/run`, "--json"]);
  const url = (await hub.lines.next("listening"))["url"] as string;
  const miners = await Promise.all([0, 1].map(async (i) => {
    const wallet = ["--wallet", `hot${i}`, "--wallet-path", `${folder}/wallets`];
    await iota(["wallet", "new", "--name", `hot${i}`, "--wallet-path", `${folder}/wallets`]);
    const own = ["--data", `${folder}/miner${i}`, "--device", "cpu"];
    return new IotaProcess(["miner", "--orchestrator", url, ...wallet, ...own]);
  }));
  return { hub, miners };
}

Deno.test("Refused uploads: a run behind a proxy that answers 413 halts, says what to change, and cannot end as a success", () =>
  withScratchFolder(async (folder) => {
    const port = freePort();
    await using proxy = new RefusingProxy(port);
    const { hub, miners } = await behindProxy(folder, port, proxy);
    const halted = await hub.lines.next("trainingHalted");
    const text = halted["text"] as string;
    assertStringIncludes(text, "stage 0 has no payload");
    assertStringIncludes(text, "HTTP 413");
    assertStringIncludes(text, `http://127.0.0.1:${proxy.port} answers 413`);
    assertStringIncludes(text, "client_max_body_size");
    assert(proxy.refused > 0);
    const status = await (await fetch(`http://127.0.0.1:${port}/status`)).json();
    assertEquals([status.isHalted, status.step], [true, 0]);
    hub.kill("SIGTERM");
    const { code, stdout } = await hub.ended;
    const summary = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
    assertEquals([code, summary.finished, summary.steps, summary.checkpoint], [1, false, 0, null]);
    assertEquals(summary.lostStages.map(({ stage }: { stage: number }) => stage), [0, 1]);
    for (const miner of miners) miner.kill("SIGTERM");
    await Promise.all(miners.map(({ ended }) => ended));
  }));

Deno.test("Refused uploads: once the proxy lets uploads through, the owner's resume lets the run end well", () =>
  withScratchFolder(async (folder) => {
    const port = freePort();
    await using proxy = new RefusingProxy(port);
    const { hub, miners } = await behindProxy(folder, port, proxy);
    await hub.lines.next("trainingHalted");
    proxy.isRefusing = false;
    const resumed = await iota(["admin", "resume", "--run", `${folder}/run`]);
    assertEquals(resumed.code, 0, resumed.stderr);
    const { code, stdout } = await hub.ended;
    const summary = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
    assertEquals([code, summary.finished, summary.steps, summary.roundsLost, summary.lostStages], [0, true, 2, 2, []]);
    for (const { code } of await Promise.all(miners.map(({ ended }) => ended))) assertEquals(code, 0);
  }));
