/** A swarm whose processes are killed, by its own plan and from outside, and what of it the run and the summary show. */

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const toy = ["--size", "toy", "--device", "cpu", "--sample-tokens", "0"];

interface ChaosLine extends Line {
  readonly action: string;
  readonly step: number;
  readonly target: string | null;
  readonly pid: number;
  readonly newPid: number;
  readonly text: string;
}

function chaosLines(swarm: IotaProcess): ChaosLine[] {
  return swarm.lines.all.filter((line) => line.type === "chaos") as ChaosLine[];
}

Deno.test("Chaos: miners and the orchestrator are killed on schedule, and the run ends as if nothing had been", async () => {
  await withScratchFolder(async (folder) => {
    const plan = ["--chaos", "kill-miner every 5 steps; kill-orchestrator at step 8"];
    const swarm = new IotaProcess(["swarm", ...toy, "--replicas", "2", "--json", "--data", folder, ...plan]);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const summary = swarm.lines.all.at(-1)!;
    const { microbatchesLost, stageHashesAgree, steps, orchestratorKills, minersKilled, restarts } = summary;
    assertEquals({ microbatchesLost, stageHashesAgree, steps, orchestratorKills, minersKilled, restarts }, {
      microbatchesLost: 0,
      stageHashesAgree: true,
      steps: 20,
      orchestratorKills: 1,
      minersKilled: 4,
      restarts: 5,
    });
    const done = chaosLines(swarm);
    assertEquals(done.map(({ action }) => action).filter((action) => action === "kill-miner").length, 4);
    for (const { target, pid, newPid, text } of done) {
      assertNotEquals(pid, newPid);
      assertEquals(text.replace(/^step \d+: /, ""), `killed ${target} (pid ${pid}), restarted as pid ${newPid}`);
    }
    const ports = swarm.lines.all.filter((line) => line.type === "listening").map((line) => line["url"]);
    assertEquals([ports.length, new Set(ports).size], [2, 1], "it comes back where it was");
    const losses = swarm.lines.all.filter((line) => line.type === "stepClosed").map((line) => line["loss"]);
    assertEquals([summary["lossFirst"], summary["lossLast"]], [losses[0], losses.at(-1)]);
    assertEquals(summary["tokens"], 20 * 128, "a repeated step counts once");
    await assertLogFollows(folder);
  });
});

/** Miners without a score, summed over rounds. Each had left, or forfeited its pay, when it had to open its parameters. */
function unscored(folder: string): number {
  const excused = new Set<string>();
  let count = 0;
  for (const line of Deno.readTextFileSync(`${folder}/ledger.jsonl`).trim().split("\n")) {
    const { entry } = JSON.parse(line);
    if (entry?.type === "left") excused.add(entry.node);
    if (entry?.type === "round") { for (const { miner } of entry.forfeits ?? []) excused.add(miner); }
    if (entry?.type !== "scores") continue;
    count += 6 - entry.miners.length;
    assert(6 - entry.miners.length <= [...excused].filter((node) => !entry.miners.includes(node)).length, line);
  }
  return count;
}

/** The signed log goes through both processes: all of it follows, is signed, and explains every miner. */
async function assertLogFollows(folder: string): Promise<void> {
  const verified = await iota(["verify", folder, "--json"]);
  assertEquals(verified.code, 0, verified.stderr);
  const { lines, scores, steps, rounds, unprovenRounds, signedLine, firstWrongLine } = summaryOf(verified.stdout);
  assertEquals({ steps, rounds, unprovenRounds, firstWrongLine }, {
    steps: 20,
    rounds: 4,
    unprovenRounds: 0,
    firstWrongLine: null,
  });
  assertEquals(Number(scores) + unscored(folder), (4 + 1) * 6); // after each round, and at the end
  assertEquals(signedLine, Number(lines) - 1);
  const explained = await iota(["explain", "miner-3", "--run", folder, "--json"]);
  assertEquals(explained.code, 0, explained.stderr);
  const { role, expelled } = summaryOf(explained.stdout);
  assertEquals([role, expelled], ["miner", false]);
  const unknown = await iota(["explain", "miner-99", "--run", folder]);
  assertEquals(unknown.code, 1);
  assertMatch(unknown.stderr, /Cannot explain 'miner-99'.*\(miner-3\)/);
}

const summaryOf = (stdout: string): Record<string, unknown> => JSON.parse(stdout.trimEnd().split("\n").at(-1)!);

Deno.test("Chaos: an orchestrator killed before its first checkpoint starts over", async () => {
  await withScratchFolder(async (folder) => {
    const plan = ["--chaos", "kill-orchestrator at step 2"];
    const swarm = new IotaProcess(["swarm", ...toy, "--steps", "10", "--json", "--data", folder, ...plan]);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const { steps, orchestratorKills, tokens } = swarm.lines.all.at(-1)!;
    assertEquals([steps, orchestratorKills, tokens], [10, 1, 10 * 128]);
  });
});

Deno.test("Chaos: miners pause, leave and come, and an action without a target says so", async () => {
  await withScratchFolder(async (folder) => {
    const plan = "pause-miner 0 for 1 seconds at step 3; stop-miner 1 at step 6; add-miner at step 6; " +
      "kill-miner 9 at step 7; kill-validator in merge 2";
    const words = ["swarm", ...toy, "--replicas", "2", "--json", "--data", folder, "--chaos", plan];
    const swarm = new IotaProcess(words);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const byAction = new Map(chaosLines(swarm).map((line) => [line.action, line]));
    assertMatch(byAction.get("pause-miner")!.text, /^step 3: paused miner-0 \(pid \d+\) for 1 s$/);
    assertEquals([byAction.get("stop-miner")!.target, byAction.get("add-miner")!.target], ["miner-1", "miner-6"]);
    assertEquals(byAction.get("kill-miner")!.text, "step 7: found nothing running for kill-miner 9");
    assertEquals(byAction.get("kill-validator")!.target, "validator-0");
    assertEquals([swarm.lines.all.at(-1)!["restarts"], swarm.lines.all.at(-1)!["minersKilled"]], [1, 0]);
  });
});

Deno.test("Chaos: a process that dies by itself is started again with a warning", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...toy, "--replicas", "2", "--steps", "60", "--json", "--data", folder]);
    const victim = await swarm.lines.next("nodeStarted") as Line & { pid: number; name: string };
    await swarm.lines.next("stepClosed");
    Deno.kill(victim.pid, "SIGKILL");
    const died = await swarm.lines.next("processDied") as Line & { pid: number };
    assertEquals(died.pid, victim.pid);
    const again = await swarm.lines.next("nodeStarted") as Line & { name: string };
    assertEquals(again.name, victim.name);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    assertMatch(stderr, new RegExp(`${victim.name} \\(pid ${victim.pid}\\) died .* is started again \\(1 of 3`));
    const { minersKilled, microbatchesLost, restarts } = swarm.lines.all.at(-1)!;
    assertEquals([minersKilled, microbatchesLost, restarts], [0, 0, 1]);
  });
});

Deno.test("Chaos: a wrong plan is a usage error before anything starts", async () => {
  await withScratchFolder(async (folder) => {
    const { code, stderr } = await iota(["swarm", ...toy, "--data", `${folder}/run`, "--chaos", "kil-miner at step 3"]);
    assertEquals(code, 2);
    assertMatch(stderr, /statement 1 \('kil-miner at step 3'\) must begin with one of .*Did you mean kill-miner\?/);
    assert(!await Deno.stat(`${folder}/run`).then(() => true, () => false), "no folder was made");
  });
});
