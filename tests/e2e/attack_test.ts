/** A swarm of real processes, one of them hostile: its wires hold a NaN, or are of the wrong sign. */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { IotaProcess, type Line, ofLab } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const toy = ["--size", "toy", "--device", "cpu", "--json"];

Deno.test("Attack: a miner's process that sends NaN is named and sent away, the swarm trains to the end", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["--stages", "3", "--replicas", "2", "--steps", "40", "--data", folder];
    const swarm = new IotaProcess(["swarm", ...toy, ...words]);
    const { url } = await swarm.lines.next("listening") as Line & { url: string };
    const hostile = await startHostile({ folder, url });
    const { node } = await swarm.lines.next("blamed") as Line & { node: string };
    const lost = await swarm.lines.next("nodeLost") as Line & { node: string };
    const ended = await hostile.ended;
    assertEquals(lost.node, node);
    assert(ended.code !== 0, "it is told to go");
    assertMatch(ended.stderr, /refused this node \(notAdmitted\): 3 proven faults/);
    assert(hostile.lines.count("taskComputed") > 0, "it took part");
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const summary = swarm.lines.all.at(-1)!;
    const { microbatchesLost, stageHashesAgree, steps, verdictsFailed } = summary;
    assertEquals({ microbatchesLost, stageHashesAgree, steps, verdictsFailed }, {
      microbatchesLost: 0,
      stageHashesAgree: true,
      steps: 40,
      verdictsFailed: 0,
    });
    assertLess(summary["validationLossLast"] as number, summary["validationLossFirst"] as number);
    const named = swarm.lines.all.filter(({ type }) => type === "blamed" || type === "nodeLost");
    assertEquals(named.filter((line) => line["node"] !== node), [], "nobody else is");
  });
});

Deno.test("Attack: a miner's process whose wires only a repetition can tell is banned", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["--stages", "3", "--replicas", "2", "--validators", "1", "--steps", "60", "--data", folder];
    const swarm = new IotaProcess(["swarm", ...toy, ...words]);
    const { url } = await swarm.lines.next("listening") as Line & { url: string };
    const hostile = await startHostile({ folder, url, what: "flip" });
    const { node, reason } = await swarm.lines.next("nodeLost") as Line & { node: string; reason: string };
    assertMatch(reason, /is off by [\d.]+.*as the orchestrator found by repeating it/);
    const ended = await hostile.ended;
    assert(ended.code !== 0, "it is told to go");
    assertMatch(ended.stderr, /refused this node \(notAdmitted\)/);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const { steps, microbatchesLost, stageHashesAgree } = swarm.lines.all.at(-1)!;
    assertEquals({ steps, microbatchesLost, stageHashesAgree }, {
      steps: 60,
      microbatchesLost: 0,
      stageHashesAgree: true,
    });
    const named = swarm.lines.all.filter(({ type }) => type === "blamed" || type === "nodeLost");
    assertEquals(named.filter((line) => line["node"] !== node), [], "nobody else is");
  });
});

async function startHostile(
  { folder, url, what = "nan" }: { folder: string; url: string; what?: string },
): Promise<IotaProcess> {
  const wallets = `${folder}/wallets`;
  const made = await new IotaProcess(["wallet", "new", "--name", "hostile", "--wallet-path", wallets]).ended;
  assertEquals(made.code, 0, made.stderr);
  const link = ["--orchestrator", url, "--wallet", "hostile", "--wallet-path", wallets];
  return new IotaProcess(
    ["attacker", ...link, "--attack", what, "--device", "cpu", "--data", folder, "--json"],
    {},
    ofLab,
  );
}

Deno.test("Attack: nobody else's run is attacked", async () => {
  const words = ["attacker", "--attack", "flip", "--orchestrator", "ws://192.0.2.1:9009", "--wallet", "hot"];
  const { code, stderr } = await new IotaProcess(words, {}, ofLab).ended;
  assertEquals(code, 2);
  assertMatch(stderr, /--orchestrator must name a run on this machine/);
});
