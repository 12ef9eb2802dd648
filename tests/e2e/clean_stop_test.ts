/**
 * An orchestrator stopped by a signal keeps what a killed one keeps: real processes, real signals. Miners and validators wait
 * for its next life, which resumes at the same step, and the parameters equal those of an uninterrupted run.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { IotaProcess, type Line, ofLab } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const roundSteps = 30;
const steps = 2 * roundSteps;
const run = [
  ...["--size", "toy", "--deterministic", "--replicas", "1", "--validators", "1", "--steps", `${steps}`],
  ...["--set", `train.stepsPerRound=${roundSteps}`],
];

interface World {
  readonly folder: string;
  readonly lives: IotaProcess[]; // of the orchestrator
  readonly nodes: IotaProcess[];
}

async function begin(folder: string): Promise<World> {
  const first = new IotaProcess(["orchestrate", ...run, "--port", "0", "--json", "--data", folder]);
  const { url } = await first.lines.next("listening") as Line & { url: string };
  const wallets = `${folder}/wallets`;
  const nodes: IotaProcess[] = [];
  for (const wallet of ["miner-0", "miner-1", "miner-2", "validator-0"]) {
    await createHotkey({ folder: wallets, wallet, hotkey: "default" });
    const role = wallet.startsWith("miner") ? "miner" : "validate";
    const place = ["--orchestrator", url, "--wallet", wallet, "--wallet-path", wallets, "--data", folder];
    nodes.push(new IotaProcess([role, ...place, "--device", "cpu", "--json"]));
  }
  return { folder, lives: [first], nodes };
}

/** Stops the newest life once it has closed this step, and starts another one; returns the old one's last output. */
async function stopAndResume(
  { folder, lives }: World,
  { atStep, signal }: { atStep: number; signal: Deno.Signal },
): Promise<{ code: number; stderr: string; step: number; summary: Line | undefined }> {
  const life = lives.at(-1)!;
  for (let step = 0; step < atStep;) step = Number((await life.lines.next("stepClosed"))["step"]);
  life.kill(signal);
  const { code, stderr } = await life.ended;
  const step = Math.max(
    ...life.lines.all.filter((line) => line.type === "stepClosed").map((line) => Number(line["step"])),
  );
  const next = new IotaProcess(["orchestrate", "--json", "--data", folder]);
  lives.push(next);
  const resumed = await next.lines.next("resumed");
  assertEquals(resumed["step"], step, `${signal}: it resumes at the same step`);
  return { code, stderr, step, summary: life.lines.all.findLast((line) => line.type === "summary") };
}

async function finish({ lives, nodes }: World): Promise<void> {
  const { code, stderr } = await lives.at(-1)!.ended;
  assertEquals(code, 0, stderr);
  for (const node of nodes) {
    const ended = await node.ended;
    assertEquals(ended.code, 0, ended.stderr);
    assertEquals(
      node.lines.all.at(-1)!["finished"],
      true,
      "every node heard the end of the run, and nothing before it",
    );
  }
}

function mergedHashes({ lives }: World): Map<string, string> {
  const hashes = new Map<string, string>();
  for (const line of lives.flatMap((life) => life.lines.all)) {
    if (line.type !== "roundMerged") continue;
    const { round, stages } = line as unknown as { round: number; stages: { stage: number; parameters: string }[] };
    for (const { stage, parameters } of stages) hashes.set(`${round}.${stage}`, parameters);
  }
  return hashes;
}

Deno.test("Clean stop: by every signal, before the first checkpoint and between two, no step is lost", async () => {
  await withScratchFolder(async (root) => {
    const undisturbed = await begin(`${root}/undisturbed`);
    await finish(undisturbed);
    const expected = mergedHashes(undisturbed);
    assertEquals(expected.size, 2 * 3, "two rounds of three stages");

    const world = await begin(`${root}/stopped`);
    const interrupted = await stopAndResume(world, { atStep: 2, signal: "SIGINT" });
    assertEquals([interrupted.code, interrupted.summary?.["checkpoint"]], [1, null], interrupted.stderr);
    assertMatch(interrupted.stderr, /resume at this step with: iota orchestrate --data \S+$/m);
    assert(interrupted.step < roundSteps, `stopped after step ${interrupted.step}`);
    const terminated = await stopAndResume(world, { atStep: interrupted.step + 2, signal: "SIGTERM" });
    assertEquals([terminated.code, terminated.summary?.["finished"]], [0, false], terminated.stderr);
    const hungUp = await stopAndResume(world, { atStep: roundSteps + 2, signal: "SIGHUP" });
    assertEquals([hungUp.code, hungUp.summary?.["finished"]], [0, false], hungUp.stderr);
    assert(hungUp.step > roundSteps, `stopped after step ${hungUp.step}`);
    await finish(world);
    assertEquals(mergedHashes(world), expected);
    for (const miner of world.nodes.slice(0, 3)) {
      assertEquals(miner.lines.count("kept"), 3, "what it held, in each new life");
    }
  });
});

Deno.test("Clean stop: while the run gathers, and again at once, it begins as if nothing had been", async () => {
  await withScratchFolder(async (folder) => {
    const world = await begin(folder);
    const [first] = world.lives as [IotaProcess];
    await first.lines.next("nodeJoined");
    first.kill("SIGINT");
    assertEquals((await first.ended).code, 1);
    const second = new IotaProcess(["orchestrate", "--resume", "--json", "--data", folder]);
    await second.lines.next("listening");
    second.kill("SIGTERM");
    assertEquals((await second.ended).code, 0);
    world.lives.push(
      new IotaProcess(["orchestrate", "--resume", "--steps", `${roundSteps}`, "--json", "--data", folder]),
    );
    await finish(world);
    assertEquals(world.lives.at(-1)!.lines.all.at(-1)!["steps"], roundSteps);
  });
});

for (const [signal, expected] of [["SIGINT", 1], ["SIGTERM", 0]] as const) {
  Deno.test(`Clean stop: a simulation that is still busy ends with its summary on ${signal}`, async () => {
    const sim = new IotaProcess(["sim", "--miners", "64", "--minutes", "100000", "--faults", "none"], {}, ofLab);
    await sim.printed.next(/^Replay/);
    sim.kill(signal);
    const { code, stdout, stderr } = await sim.ended;
    assertEquals([code, stderr.includes("error")], [expected, false], stderr);
    assertMatch(stdout, /finished +no/);
  });
}
