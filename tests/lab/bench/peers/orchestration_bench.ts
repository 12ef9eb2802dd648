/**
 * What a swarm costs beside its arithmetic: CPU time of the threads that do not compute (hub, swarm process, the miners' network
 * threads), as a share of all CPU time of a local swarm. Nothing is compressed, so as many bytes as possible are moved.
 *
 *   deno run -A tests/lab/bench/peers/orchestration_bench.ts [--json] [--size tiny] [--stages 1,3]      Linux only
 *
 * The kernel counts each thread's time. A miner computes in its worker and in the threads that the worker's driver starts, which
 * inherit its name or have the driver's; every other thread of every process is overhead. Counted between two steps of one
 * run, so start-up (shaders, dataset) is left out.
 */

import { TextLineStream } from "../../../../cli/program/text_lines.ts";

const size = valueOf("--size") ?? "tiny";
const fromStep = size === "tiny" ? 20 : 3; // a step of a larger size takes many seconds
const toStep = size === "tiny" ? 80 : 11;
const computeThread = /^(worker-2|llvmpipe-\d+)$/; // the program is worker-1, its compute worker the next
const parts = ["orchestrate", "miner", "chain"] as const; // words of a child's command line; the swarm itself has none of them
const ticksPerSecond = 100; // of /proc, on every Linux
const iota = new URL("../../../../iota", import.meta.url).pathname;

/** CPU seconds since their start, of the threads of a swarm's processes, by part; "compute" is a part. */
type CpuSeconds = ReadonlyMap<string, number>;

const settings = (stages: number) => ({
  "pipeline.codec": "none",
  "pipeline.stages": stages,
  "sample.tokens": 0, // nothing else computes
  "swarm.replicas": 1,
  "swarm.validators": 0,
  "train.steps": toStep + 1,
  "train.stepsPerRound": toStep + 1,
});

/** All processes below `root`, with itself. */
function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : null;
    if (stat !== null) parents.set(Number(name), Number(fieldsOf(stat)[1]));
  }
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  return tree;
}

/** The fields after a process's or thread's name, which may hold anything: state, parent, … (proc(5)). */
const fieldsOf = (stat: string) => stat.slice(stat.lastIndexOf(")") + 2).split(" ");
const nameOf = (stat: string) => stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));

function read(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null; // it has ended meanwhile
  }
}

function cpuSeconds(root: number): CpuSeconds {
  const seconds = new Map<string, number>();
  for (const pid of processTree(root)) {
    const words = read(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
    const part = parts.find((word) => words.includes(word)) ?? "swarm";
    for (const { name: thread } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const stat = read(`/proc/${pid}/task/${thread}/stat`);
      if (stat === null) continue;
      const fields = fieldsOf(stat);
      const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond; // user and system time
      const of = part === "miner" && computeThread.test(nameOf(stat)) ? "compute" : part;
      seconds.set(of, (seconds.get(of) ?? 0) + own);
    }
  }
  return seconds;
}

/** The seconds that each part took between the two steps. */
async function measure(stages: number): Promise<Record<string, number>> {
  const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
  const set = Object.entries(settings(stages)).map(([path, value]) => `${path}=${value}`).join(",");
  const words = ["swarm", "--size", size, "--sample-tokens", "0", "--data", `${folder}/run`, "--set", set, "--json"];
  const swarm = new Deno.Command(iota, { args: words, stdout: "piped", stderr: "null" }).spawn();
  const lines = swarm.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream({ wholeOnly: true }));
  let before: CpuSeconds | null = null;
  let after: CpuSeconds | null = null;
  for await (const line of lines) {
    const record = JSON.parse(line);
    if (record.type !== "stepClosed") continue;
    if (record.step === fromStep) before = cpuSeconds(swarm.pid);
    if (record.step === toStep) after = cpuSeconds(swarm.pid);
  }
  await Deno.remove(folder, { recursive: true });
  if (before === null || after === null) {
    throw new Error(`The swarm ended early: ${JSON.stringify(await swarm.status)}`);
  }
  const from = before;
  return Object.fromEntries([...after].map(([part, seconds]) => [part, seconds - (from.get(part) ?? 0)]));
}

/** The word after a flag; null without it. */
function valueOf(flag: string): string | null {
  const at = Deno.args.indexOf(flag);
  return at === -1 ? null : Deno.args[at + 1] ?? null;
}

const asked = valueOf("--stages") ?? "1,3";
const rows: { stages: number; overhead: number; cpuSeconds: Record<string, number> }[] = [];
for (const stages of asked.split(",").map(Number)) {
  const cpuSeconds = await measure(stages);
  const all = Object.values(cpuSeconds).reduce((sum, seconds) => sum + seconds, 0);
  rows.push({ stages, overhead: 1 - (cpuSeconds["compute"] ?? 0) / all, cpuSeconds });
}
if (Deno.args.includes("--json")) {
  for (const row of rows) console.log(JSON.stringify({ type: "measurement", ...row }));
  console.log(JSON.stringify({ type: "summary", overheads: rows.map(({ overhead }) => overhead) }));
} else console.table(rows.map(({ cpuSeconds, ...row }) => ({ ...row, ...cpuSeconds })));
