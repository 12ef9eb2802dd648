/** `iota bench` beside other libraries: turns and medians, the table, and their processes, with stand-ins for the libraries. */

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type Contender, holdContest, median } from "../../lab/bench/compute/contest.ts";
import { chosenLibraries, libraryNames, startLibraries } from "../../lab/bench/compute/libraries.ts";
import { SpeedTable } from "../../lab/bench/compute/speed_table.ts";
import type { BenchTask, Speed } from "../../lab/bench/compute/task.ts";

const task: BenchTask = { type: "gemm", kind: "forward", rows: 8, inWidth: 8, outWidth: 8 };
const { signal } = new AbortController();
const speed = (value: number): Speed => ({ perSecond: 10 * value, perCpuSecond: value });

function scripted(name: string, { values, calls }: { values: readonly number[]; calls: string[] }): Contender {
  const left = [...values];
  return {
    name,
    measure: () => {
      calls.push(name);
      const next = left.shift();
      return Promise.resolve(next === undefined ? { missing: "cannot" } : speed(next));
    },
  };
}

Deno.test("Contest: contenders take turns, and each gets the median of its runs", async () => {
  const calls: string[] = [];
  const contenders = [scripted("a", { values: [5, 1, 9], calls }), scripted("b", { values: [2, 100, 3], calls })];
  const results = await holdContest(contenders, { task, rounds: 3, budgetMs: 1, signal });
  assertEquals(calls.join(""), "ababab");
  assertEquals(results, [speed(5), speed(3)]);
});

Deno.test("Contest: who cannot do the task is asked once and says why", async () => {
  const calls: string[] = [];
  const contenders = [scripted("a", { values: [1, 2], calls }), scripted("b", { values: [], calls })];
  const results = await holdContest(contenders, { task, rounds: 2, budgetMs: 1, signal });
  assertEquals([calls.join(""), results[1]], ["aba", { missing: "cannot" }]);
});

Deno.test("Contest: an interrupted one ends before the next run", async () => {
  const stop = new AbortController();
  const calls: string[] = [];
  const contender = scripted("a", { values: [1, 2, 3], calls });
  const stopping = { ...contender, measure: () => (stop.abort(), contender.measure(task, 1)) };
  await assertRejects(() => holdContest([stopping], { task, rounds: 3, budgetMs: 1, signal: stop.signal }));
  assertEquals(calls.length, 1);
});

Deno.test("Median: the middle, or the mean of the two in the middle", () => {
  assertEquals([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])], [2, 2.5, 7]);
});

Deno.test("Speed table: a column each, the limit, and our share of the best other", () => {
  const table = new SpeedTable({
    ...{ tasks: ["256x256x256 NT"], others: ["jax-js", "onnxruntime-web"], clock: "perCpuSecond" },
    ...{ scale: 1, limit: 55.54 },
  });
  const row = { task: "256x256x256 NT", ours: speed(45), others: [speed(30), { missing: "does not train" }] };
  assertEquals([table.heading(), table.row(row)], [
    "                    ours    jax-js  onnxruntime-web     limit  to the best",
    "256x256x256 NT      45.0      30.0                -      55.5       1.50 x",
  ]);
});

Deno.test("Speed table: on a GPU the clock counts, and without others there is no share", () => {
  const table = new SpeedTable({ tasks: ["1m"], others: [], clock: "perSecond", scale: 1, limit: null });
  assertEquals(table.row({ task: "1m", ours: speed(1234.5), others: [] }), "1m    12,345");
  assertEquals(table.row({ task: "1m", ours: { missing: "no" }, others: [] }), "1m         -");
});

Deno.test("Libraries: all, none, or some by name", () => {
  assertEquals([chosenLibraries("all"), chosenLibraries("none")], [libraryNames, []]);
  assertEquals(chosenLibraries("tfjs, jax-js"), ["tfjs", "jax-js"]);
  assertThrows(() => chosenLibraries("jax"), Error, "not all, none or some of jax-js,tfjs");
});

Deno.test("Libraries: a product names each of them and says why it is missing", async () => {
  const { contenders, missing } = await startLibraries(["jax-js", "pytorch"], { backend: "cpu", folder: null });
  assertEquals(contenders, []);
  const reason = "is measured from a checkout of the source only";
  assertEquals(missing, { "jax-js": reason, pytorch: reason });
});

/** A folder like tests/lab/bench/libraries whose one library speaks these lines. */
async function withLibrary(program: string, use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/packages.json`, `{ "lock": false }`);
    await Deno.writeTextFile(`${folder}/main.ts`, program);
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const answering = `
import { createInterface } from "node:readline";
console.log("noise of its own");
console.log(JSON.stringify({ version: Deno.args.join(" ") }));
for await (const line of createInterface({ input: process.stdin })) {
  const { task, budgetMs } = JSON.parse(line);
  if (task.rows === 13) { console.error("TypeError: thirteen"); Deno.exit(7); }
  console.log(JSON.stringify({ perSecond: task.rows, perCpuSecond: budgetMs }));
}`;

Deno.test("Libraries: a process answers tasks, and its end is a reason like any other", async () => {
  await withLibrary(`import process from "node:process";${answering}`, async (folder) => {
    const started = await startLibraries(["jax-js"], { backend: "webgpu", folder });
    try {
      assertEquals([started.versions, started.missing], [{ "jax-js": "jax-js webgpu" }, {}]);
      const [library] = started.contenders;
      assertEquals(await library!.measure(task, 5), { perSecond: 8, perCpuSecond: 5 });
      const ended = await library!.measure({ ...task, rows: 13 }, 5);
      assert("missing" in ended);
      assertStringIncludes(ended.missing, "ended with code 7: TypeError: thirteen");
      assertEquals(await library!.measure(task, 5), ended);
    } finally {
      await started.close();
    }
  });
});

Deno.test("Libraries: one that does not start is missing, with its own words", async () => {
  await withLibrary(`console.log('{"missing":"has no wasm backend here"}')`, async (folder) => {
    const { contenders, missing } = await startLibraries(["tfjs"], { backend: "cpu", folder });
    assertEquals([contenders, missing], [[], { tfjs: "has no wasm backend here" }]);
  });
  await withLibrary(`await import("no-such-package")`, async (folder) => {
    const { missing } = await startLibraries(["tfjs"], { backend: "cpu", folder });
    assertStringIncludes(missing["tfjs"]!, "no-such-package");
  });
});
