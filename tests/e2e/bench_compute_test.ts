/** `lab bench step` and `gemm` as programs read them: what is measured is plausible, and on the processor repeats to the bit. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { iota, ofLab } from "../support/process/iota_process.ts";

const alone = ["--peers", "none"];

async function summaryOf(words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await iota(
    ["bench", ...words, "--json"],
    {},
    words.length === 0 || words[0]!.startsWith("--") ? {} : ofLab,
  );
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

Deno.test("Bench: a training step on the processor has one hash, whatever the run", async () => {
  const step = ["step", "--device", "cpu", "--size", "toy", "--seconds", "0.1", ...alone];
  const [first, second] = [await summaryOf(step), await summaryOf(step)];
  assertEquals([first["device"], first["hash"]], ["cpu", second["hash"]]);
  assertMatch(String(first["hash"]), /^[0-9a-f]{64}$/);
  assert(Number(first["tokensPerCpuSecond"]) > 0);
});

Deno.test("Bench: every form and shape of product has a speed", async () => {
  const { rows } = await summaryOf(["gemm", "--device", "cpu", "--seconds", "0.1", ...alone]) as {
    rows: { kind: string; gflopsPerCpuSecond: number }[];
  };
  assertEquals(new Set(rows.map(({ kind }) => kind)), new Set(["NT", "NN", "TN"]));
  assert(rows.every(({ gflopsPerCpuSecond }) => gflopsPerCpuSecond > 0));
});

Deno.test("Bench: attention has a speed in both passes, below the machine's limit", async () => {
  const { rows, limit } = await summaryOf(["attention", "--device", "cpu", "--seconds", "0.1", ...alone]) as {
    rows: { pass: string; gflopsPerCpuSecond: number }[];
    limit: { gflopsPerCpuSecond: number };
  };
  assertEquals(new Set(rows.map(({ pass }) => pass)), new Set(["forward", "backward"]));
  assert(rows.every(({ gflopsPerCpuSecond: speed }) => speed > 0 && speed < limit.gflopsPerCpuSecond));
});

Deno.test("Bench: the processor as an adapter has peaks, and compiles a stage cold and warm", async () => {
  const fields = await summaryOf(["adapter", "--device", "cpu", "--seconds", "0.1"]);
  const names = [
    "gflopsPerCpuSecond",
    "copyGigabytesPerSecond",
    "dispatchMicroseconds",
    "compileColdMs",
    "compileWarmMs",
  ];
  for (const name of names) assert(Number(fields[name]) > 0, name);
});

Deno.test("Bench: alone it tells what this machine is worth, and why its link was not measured", async () => {
  const { sizes, link } = await summaryOf(["--device", "cpu", "--memory", "1GiB"]) as {
    sizes: { size: string; holds: number[]; tokensPerSecond: number | null; isMeasured: boolean }[];
    link: { skipped: string };
  };
  assertEquals(sizes.map(({ size }) => size), ["tiny", "small", "100m", "1b", "3b", "8b", "15b"]);
  const [tiny] = sizes;
  assertEquals([tiny!.holds, tiny!.isMeasured], [[0, 1, 2], true]);
  assertEquals([sizes.at(-1)!.holds, sizes.at(-1)!.tokensPerSecond], [[], null]);
  assertEquals(link.skipped, "no orchestrator is named: --orchestrator URL");
});

Deno.test("Bench: a library that this machine lacks is named with the reason", async () => {
  const { code, stdout } = await iota(
    ["bench", "step", "--device", "cpu", "--size", "toy", "--seconds", "0.1", "--peers", "pytorch", "--json"],
    { PATH: "/nonexistent" },
    ofLab,
  );
  const { peers, missingPeers } = JSON.parse(stdout.trim().split("\n").at(-1)!);
  assertEquals([code, peers, missingPeers], [0, {}, { pytorch: "cannot start: there is no python3" }]);
});

Deno.test("Bench: a size that no preset has is refused with the sizes there are", async () => {
  const { code, stderr } = await iota(["bench", "step", "--size", "2m"], {}, ofLab);
  assertEquals(code, 2);
  assertMatch(stderr, /only 1m, toy, tiny/);
});
