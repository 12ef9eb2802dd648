/** `iota plan`: lines for people, a summary for programs, and what would fit where something does not. */

import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { main } from "../../../cli/command_line.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { reasonFor } from "../../../core/settings/reasons.ts";
import { bytesOf } from "../../../cli/terminal/text/byte_text.ts";
import { FakeHost } from "../../support/fake_host.ts";

async function plan(line: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const host = new FakeHost();
  const code = await main(["plan", ...line.split(" ")], host);
  return { code, ...host.written };
}

Deno.test("Plan: every stage with its memory, and that all fit", async () => {
  const { code, stdout } = await plan("--size 1b --memory 12GiB");
  assertEquals(code, 0);
  assertEquals(stdout.match(/^ +[012] .* GiB/gm)?.length, 3);
  assertMatch(stdout, /Every stage fits; the largest takes \d{1,2}\.\d GiB\n$/);
});

Deno.test("Plan: the summary has the verdict and every stage's bytes; a stage's line has the parts and the wires", async () => {
  const { stdout } = await plan("--size small --stages 2 --json");
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  const summary = lines.at(-1);
  assertEquals([summary.type, summary.fits, summary.memoryBytes], ["summary", true, 16 * 2 ** 30]);
  const stages = lines.filter(({ type }) => type === "stage");
  assertEquals(
    summary.stages,
    stages.map(({ index, parameters, bytes, fits }) => ({ index, parameters, bytes, fits })),
  );
  const [head, tail] = stages;
  assertEquals(head.wireBytes, { received: tail.wireBytes.sent, sent: tail.wireBytes.received });
  assertEquals(head.wireBytes.sent, 8 * 256 * (8 * 5 / 8 + 1 + 2)); // codes, a scale, an id
});

Deno.test("Plan: a round's bytes and the links for them, of the payloads that the run has", async () => {
  const tail = async (options: string) =>
    JSON.parse(
      (await plan(`--size small --stages 2 ${options} --json`.replace("  ", " "))).stdout.trim().split("\n").at(-2)!,
    );
  const [dense, sparse, alone] = [
    await tail(""),
    await tail("--merge sparse"),
    await tail("--merge sparse --replicas 1"),
  ];
  const floats = 64 * Math.ceil(dense.parameters / 64); // about
  assertLess(Math.abs(dense.roundBytes.merge.sent / (33 / 32 * floats) - 1), 0.01); // int8, averaged by the orchestrator
  assertEquals(dense.roundBytes.merge.sent, dense.roundBytes.merge.received);
  assertLess(sparse.roundBytes.merge.sent, dense.roundBytes.merge.sent / 50);
  assertLess(2 * sparse.roundBytes.merge.sent, sparse.roundBytes.merge.received); // the mean of two is denser than each
  assertLess(alone.roundBytes.merge.received, sparse.roundBytes.merge.received);
  assertLess(sparse.mergingMbitPerTflops, dense.mergingMbitPerTflops / 20);
  assertEquals(sparse.trainingMbitPerTflops, dense.trainingMbitPerTflops);
  assertLess(dense.linkMbitPerTflops, dense.trainingMbitPerTflops);
});

Deno.test("Plan: the run's line names the payloads of merges, and how dense sparse ones are", async () => {
  assertMatch((await plan("--size small --verbose")).stdout, /, int8 payloads; learning rate/);
  assertMatch(
    (await plan("--size small --merge sparse --verbose")).stdout,
    /, sparse \(1\/64\) payloads; learning rate/,
  );
});

Deno.test("Plan: what does not fit is refused with numbers and changes that fit", async () => {
  const { code, stdout } = await plan("--size 8b --stages 8 --memory 16GiB");
  assertEquals(code, 1);
  const [, stages] =
    /of 8 stages do not fit: the largest takes .* GiB, more than 16\.0 GiB; try --stages (\d+)/.exec(stdout) ?? [];
  assert(stages !== undefined, stdout);
  assertEquals((await plan(`--size 8b --stages ${stages} --memory 16GiB`)).code, 0);
});

Deno.test("Plan: it answers with miners, GPU memory, internet speed and days, on 80 columns", async () => {
  for (const size of ["toy", "15b"]) {
    const { stdout } = await plan(`--size ${size}`);
    assertMatch(stdout, /^Miners +\d+: 2 miners for each of \d+ stages$/m);
    assertMatch(stdout, /^GPU memory +\d+\.\d [MGK]iB a miner, of 16\.0 GiB$/m);
    assertMatch(stdout, /^Internet speed +([\d.,]+ Mbit\/s a miner keep|any: a model this small)/m);
    assertMatch(stdout, /^Time +\d.* or more at 20 Mbit\/s\n +\d.* at 100 Mbit\/s\n +\d.* at 1,000 Mbit\/s$/m);
    for (const line of stdout.split("\n")) assertLess(line.length, 81, line);
  }
});

Deno.test("Plan: every number that follows from the size has its reason, at every size, and a given one has none", async () => {
  for (const size of sizeNames) {
    const resolved = resolveConfig({ size });
    assert(resolved.ok);
    const { config, origins } = resolved;
    const derived = knobPaths.filter((path) => origins[path] === "size");
    assertEquals(derived.filter((path) => reasonFor(config, path) === null), []);
  }
  const { stdout } = await plan("--size 15b --steps 1000");
  assertMatch(stdout, /^model\.width = 5120 +the size's; from 1b up/m);
  assertMatch(stdout, /^train\.warmupSteps = 250 +25 % of the steps$/m);
  assertEquals(stdout.includes("train.steps ="), false);
});

Deno.test("Plan: of a model that a run starts from, with what comes with it", async () => {
  const { code, stdout } = await plan("--from tests/vectors/export/llama-rope --codec none");
  assertEquals(code, 0);
  assertMatch(stdout, /^toy, 35,232 parameters\n2 stages x 2 miners/);
  assertMatch(stdout, /^model\.ropeFactor = 8 +comes with the model\n/m);
  assertMatch(stdout, /^pipeline\.stages = 2 +a layer each\n/m);
});

Deno.test("Plan: its advice keeps the model that was asked for", async () => {
  const { code, stdout } = await plan("--size toy --memory 64KiB");
  assertEquals([code, stdout.includes("--size")], [1, false], stdout);
});

Deno.test("Plan: an amount of memory needs a unit", async () => {
  const { code, stderr } = await plan("--memory 16");
  assertEquals(code, 2);
  assertStringIncludes(stderr, "--memory 16GiB");
  const read: [string, number | null][] = [["16GiB", 2 ** 34], ["1.5 MiB", 1.5 * 2 ** 20], ["8GB", 8e9], [
    "0GiB",
    null,
  ]];
  for (const [text, bytes] of read) assertEquals(bytesOf(text), bytes, text);
});

Deno.test("Plan: the run's codec is described only where a boundary has it", async () => {
  const withBoundaries = async (boundaries: string) =>
    (await plan(`--size tiny --verbose --set pipeline.boundaries=${boundaries}`)).stdout;
  const others = await withBoundaries("1=q4block:16,2=none");
  assertEquals(others.includes("codec q5block"), false, others);
  assertStringIncludes(others, "before stage 1, codec none");
  assertStringIncludes(await withBoundaries("2=none"), "codec q5block");
});
