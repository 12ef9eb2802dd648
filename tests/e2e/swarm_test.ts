/** Swarms of real processes, on the reference device so that no adapter is needed. */

import { assert, assertEquals, assertGreater, assertLess, assertMatch } from "@std/assert";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const toy = ["--size", "toy", "--device", "cpu", "--json"];

interface Merged {
  round: number;
  stages: { stage: number; parameters: string; agree: boolean }[];
}

Deno.test("Swarm: every role as a process trains, validates, keeps checkpoints and writes text", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...toy, "--replicas", "2", "--data", folder]);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const summary = swarm.lines.all.at(-1)!;
    assertEquals(summary.type, "summary");
    const { microbatchesLost, stageHashesAgree, steps, verdictsFailed } = summary;
    assertEquals({ microbatchesLost, stageHashesAgree, steps, verdictsFailed }, {
      microbatchesLost: 0,
      stageHashesAgree: true,
      steps: 20,
      verdictsFailed: 0,
    });
    const audited = swarm.lines.all.filter(({ type }) => type === "verdict").map(({ miner, round }) =>
      `${miner} ${round}`
    );
    assertEquals(new Set(audited).size, 6 * 4, "every miner is audited in every round");
    assertLess(summary["validationLossLast"] as number, summary["validationLossFirst"] as number);
    const bitsPerToken = summary["validationLossLast"] as number / Math.LN2;
    assertLess(summary["validationBitsPerByte"] as number, bitsPerToken, "a token is more than one byte");
    assertGreater(summary["validationBitsPerByte"] as number, bitsPerToken / 8);
    assertMatch(summary["sample"] as string, /^The people/);
    const saved = JSON.parse(await Deno.readTextFile(`${folder}/summary.json`));
    assertEquals(saved.checkpoint, summary["checkpoint"]);
  });
});

Deno.test("Swarm: starts its roles where the dynamic loader has variables, as in NVIDIA's containers", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["swarm", ...toy, "--steps", "1", "--data", folder];
    const { code, stderr } = await iota(words, { LD_LIBRARY_PATH: folder });
    assertEquals(code, 0, stderr);
  });
});

Deno.test("Swarm: without --json it prints lines for people, and ends well", async () => {
  await withScratchFolder(async (folder) => {
    const words = toy.filter((word) => word !== "--json");
    const { code, stdout, stderr } = await iota(["swarm", ...words, "--steps", "4", "--data", folder]);
    assertEquals(code, 0, stderr);
    assert(!stderr.includes("error"), stderr);
    for (
      const line of [
        /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/$/m,
        /^ +\d+:\d\d +step +4\/4 /m,
        /^ +\d+:\d\d +merge /m,
        /^bytes per trained token +\d/m,
      ]
    ) {
      assertMatch(stdout, line);
    }
  });
});

Deno.test("Swarm: a miner killed in mid-step costs no microbatch, and a newcomer's hash equals its peer's", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...toy, "--replicas", "2", "--steps", "200", "--data", folder]);
    const { url } = await swarm.lines.next("listening") as Line & { url: string };
    const victim = await swarm.lines.next("nodeStarted") as Line & { pid: number };
    await swarm.lines.next("stepClosed");
    await swarm.lines.next("taskFinished");
    Deno.kill(victim.pid, "SIGKILL");
    const lost = await swarm.lines.next("nodeLost");
    const newcomer = await startMiner({ folder, url });
    const ready = await newcomer.lines.next("stageLoaded") as Line & { stage: number };
    const merged = await newcomer.lines.next("roundMerged") as Line & { round: number; parameters: string };
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    assertEquals((await newcomer.ended).code, 0);
    const merge = swarm.lines.all.find((line) => line.type === "roundMerged" && line["round"] === merged.round);
    const stage = (merge as unknown as Merged).stages.find((each) => each.stage === ready.stage);
    assertEquals(stage, { ...stage!, parameters: merged.parameters, agree: true });
    const summary = swarm.lines.all.at(-1)!;
    assertEquals([summary["microbatchesLost"], summary["stageHashesAgree"], summary["steps"]], [0, true, 200]);
    assert(lost["node"] !== undefined);
  });
});

async function startMiner({ folder, url }: { folder: string; url: string }): Promise<IotaProcess> {
  const wallets = `${folder}/wallets`;
  const made = await new IotaProcess(["wallet", "new", "--name", "late", "--wallet-path", wallets]).ended;
  assertEquals(made.code, 0, made.stderr);
  const link = ["--orchestrator", url, "--wallet", "late", "--wallet-path", wallets];
  return new IotaProcess(["miner", ...link, "--device", "cpu", "--data", folder, "--json"]);
}

Deno.test("Swarm: Ctrl-C while training ends all its processes, the same command takes them up again where they were", async () => {
  await withScratchFolder(async (folder) => {
    const first = new IotaProcess(["swarm", ...toy, "--steps", "4000", "--data", folder]);
    await first.lines.next("checkpointWritten");
    await first.lines.next("stepClosed");
    first.kill("SIGINT");
    const stopped = await first.ended;
    assertEquals(stopped.code, 1);
    assertMatch(stopped.stderr, /resume with: iota swarm --data \S+ --device cpu$/m);
    const { steps, microbatchesLost, rounds } = first.lines.all.at(-1)!;
    assertEquals(microbatchesLost, 0);
    const pids = first.lines.all.filter((line) => line.type === "nodeStarted").map((line) => Number(line["pid"]));
    for (const pid of pids) assert(!isAlive(pid), `process ${pid} must have ended with its swarm`);
    const again = new IotaProcess([
      "swarm",
      ...toy,
      "--steps",
      `${(steps as number) + 10}`,
      "--data",
      folder,
    ]);
    const resumed = await again.lines.next("resumed") as Line & { round: number; step: number };
    assertEquals([resumed.round, resumed.step], [rounds, steps]);
    const { code, stderr } = await again.ended;
    assertEquals(code, 0, stderr);
    assertEquals(again.lines.all.at(-1)!["stageHashesAgree"], true);
  });
});

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof TypeError) return false;
    throw error;
  }
}

Deno.test("Swarm: two runs with one seed and --deterministic show the same parameter hashes", async () => {
  const hashes = async (): Promise<string[]> => {
    let found: string[] = [];
    await withScratchFolder(async (folder) => {
      const words = ["swarm", ...toy, "--replicas", "2", "--deterministic", "--steps", "10", "--data", folder];
      const swarm = new IotaProcess([...words, "--validators", "0", "--sample-tokens", "0"]);
      const { code, stderr } = await swarm.ended;
      assertEquals(code, 0, stderr);
      const merges = swarm.lines.all.filter((line) => line.type === "roundMerged") as unknown as Merged[];
      found = merges.flatMap((merge) => merge.stages.map((stage) => stage.parameters));
    });
    return found;
  };
  const first = await hashes();
  assertEquals(first.length, 2 * 3, "two rounds of three stages");
  assertEquals(await hashes(), first);
});
