/** The verdicts of `iota doctor`, how its checks are run, and how findings are shown. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { judgeChain } from "../../../cli/tools/doctor/chain_check.ts";
import { type ClockSample, judgeClock, sampleOfBlock, sampleOfDate } from "../../../cli/tools/doctor/clock_check.ts";
import { flops, judgeAdapter, judgeSizes, type SizeFit } from "../../../cli/tools/doctor/device_checks.ts";
import { checkDisk, judgeDisk } from "../../../cli/tools/doctor/disk_check.ts";
import { judgeMemory, judgeOpenFiles } from "../../../cli/tools/doctor/machine_checks.ts";
import { closingLine, findingLines } from "../../../cli/tools/doctor/run_doctor.ts";
import {
  type Check,
  type Finding,
  good,
  runChecks,
  skipped,
  warning,
  worstOf,
  wrong,
} from "../../../cli/tools/doctor/verdict.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const gibibyte = 2 ** 30;
const check = (run: Check["run"], deadlineMs = 10_000): Check => ({ name: "it", deadlineMs, lateFix: "Wait", run });

Deno.test("Doctor: checks run side by side, and their findings keep the order", async () => {
  const second = Promise.withResolvers<void>();
  const findings = await Promise.all(runChecks([
    check(async () => (await second.promise, good("first"))),
    check(() => (second.resolve(), Promise.resolve(good("second")))), // run one after the other, the first would wait forever
  ]));
  assertEquals(findings.map(({ text }) => text), ["first", "second"]);
});

Deno.test("Doctor: a check that hangs, refuses or fails is a finding with its next step", async () => {
  const [late, refused, failed] = await Promise.all(runChecks([
    check(() => new Promise(() => {}), 5),
    check(() => Promise.reject(new UserError("Cannot walk as the road is closed", { next: "Take the other" }))),
    check(() => Promise.reject(new TypeError("x is not a function"))),
  ]));
  assertEquals([late!.level, late!.text, late!.fix], ["wrong", "no answer within 0.005 s", "Wait"]);
  assertEquals([refused!.level, refused!.text, refused!.fix], [
    "wrong",
    "Cannot walk as the road is closed",
    "Take the other",
  ]);
  assertMatch(failed!.text, /itself failed, TypeError: x is not a function/);
});

Deno.test("Doctor: the worst finding counts, and skipped checks do no harm", () => {
  const of = (...verdicts: Omit<Finding, "name">[]) => worstOf(verdicts.map((verdict) => ({ name: "it", ...verdict })));
  assertEquals([of(), of(good("")), of(good(""), skipped(""))], ["good", "good", "good"]);
  assertEquals([of(good(""), warning("", "")), of(wrong("", ""), warning("", ""))], ["warning", "wrong"]);
});

Deno.test("Doctor: memory and open files are enough, little or too little", () => {
  const memory = (availableBytes: number) => judgeMemory({ totalBytes: 16 * gibibyte, availableBytes }).level;
  assertEquals([memory(8 * gibibyte), memory(gibibyte), memory(gibibyte / 4)], ["good", "warning", "wrong"]);
  const files = (limit: string) => judgeOpenFiles(`Max open files            ${limit}   1048576   files\n`);
  assertEquals([files("1024").level, files("256").level, files("unlimited").level], ["good", "warning", "good"]);
  assertStringIncludes(files("256").fix ?? "", "ulimit -n");
  assertEquals(judgeOpenFiles("").level, "skipped");
});

Deno.test("Doctor: a disk is judged by its room and by how long a sync takes", () => {
  const disk = { folder: "runs", exists: true, freeBytes: 100 * gibibyte, syncMs: 2 };
  assertEquals(judgeDisk(disk).level, "good");
  assertEquals(judgeDisk({ ...disk, freeBytes: gibibyte }).level, "warning");
  assertEquals(judgeDisk({ ...disk, freeBytes: 1e6 }).level, "wrong");
  assertMatch(judgeDisk({ ...disk, syncMs: 400 }).text, /400 ms, which is slow/);
  assertStringIncludes(judgeDisk({ ...disk, exists: false }).text, "which will be created");
});

Deno.test("Doctor: the data folder is tried without being made, and nothing stays in it", async () => {
  await withScratchFolder(async (folder) => {
    const missing = await checkDisk(`${folder}/a/b`);
    assertEquals([missing.facts?.["exists"], [...Deno.readDirSync(folder)]], [false, []]);
    await Deno.writeTextFile(`${folder}/file`, "");
    const below = await checkDisk(`${folder}/file/data`);
    assertEquals(below.level, "wrong");
    assertStringIncludes(below.text, "a part of its path is not a folder");
  });
});

Deno.test("Doctor: an adapter is shown with its limits; a software one is a warning", () => {
  const limits = {
    ...{
      maxBufferSize: 4 * gibibyte,
      maxStorageBufferBindingSize: 2 * gibibyte,
      maxComputeWorkgroupsPerDimension: 65_535,
    },
    ...{ maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupStorageSize: 16_384 },
  };
  const facts = { limits, features: ["shader-f16"] };
  const real = judgeAdapter({ name: "A GPU", isSoftware: false, facts });
  assertEquals(real.level, "good");
  assertStringIncludes(
    real.text,
    "A GPU; buffers to 4.0 GiB, bindings to 2.0 GiB, workgroups of 256 with 16.0 KiB, f16",
  );
  assertStringIncludes(real.text, "no subgroups");
  assertEquals(judgeAdapter({ name: "llvmpipe", isSoftware: true, facts }).level, "warning");
});

Deno.test("Doctor: shows the largest size that fits, and why the next does not", () => {
  const fit = (size: SizeFit["size"], problem: string | null): SizeFit => ({
    size,
    stageBytes: 2 ** 20,
    problem,
  });
  const verdict = judgeSizes([fit("toy", null), fit("tiny", null), fit("small", "its logits take 1 GiB")]);
  assertEquals(verdict.text, "up to tiny, whose stages take 1.0 MiB; not small: its logits take 1 GiB");
  assertEquals([verdict.level, verdict.facts?.["largestSize"], verdict.facts?.["tooLarge"]], ["good", "tiny", "small"]);
  const gap = judgeSizes([fit("toy", null), fit("3b", "no"), fit("8b", null), fit("15b", "no, neither")]);
  assertMatch(gap.text, /^up to 8b.*; not 15b: no, neither$/);
  assertEquals(judgeSizes([fit("toy", null), fit("tiny", "no")]).level, "warning");
  assertEquals(judgeSizes([fit("toy", "no")]).level, "wrong");
  assertEquals([flops(12.34e9), flops(5.67e12)], ["12.3 GFLOP/s", "5.67 TFLOP/s"]);
});

Deno.test("Doctor: a Date is right within its second, and tells how far the clock is off", () => {
  const trueMs = Date.UTC(2026, 0, 1, 12, 0, 0, 700);
  const date = "Thu, 01 Jan 2026 12:00:00 GMT";
  const sample = (offMs: number): ClockSample =>
    sampleOfDate(date, { by: "it", sentMs: trueMs + offMs - 10, receivedMs: trueMs + offMs + 10 })!;
  assertEquals([sample(0).offsetMs, sample(0).errorMs], [200, 510]);
  const level = (offMs: number) => judgeClock([sample(offMs)], "linux").level;
  assertEquals([level(0), level(2_000), level(-10_000), level(600_000)], ["good", "good", "warning", "wrong"]);
  assertMatch(judgeClock([sample(-10_000)], "linux").text, /^9\.8 s behind it$/);
  assertMatch(judgeClock([sample(600_000)], "linux").fix ?? "", /timedatectl/);
  assertEquals(sampleOfDate("yesterday", { by: "it", sentMs: 0, receivedMs: 0 }), null);
  assertEquals(judgeClock([], "linux").level, "skipped");
});

Deno.test("Doctor: the most exact source gives the time, and a late block does not mean a wrong clock", () => {
  const block = (headAgeMs: number) => sampleOfBlock({ by: "the chain", headAgeMs, blockMs: 12_000 });
  assertEquals(judgeClock([block(14_000)], "linux").level, "good");
  assertEquals(judgeClock([block(-60_000)], "linux").level, "warning");
  const exact: ClockSample = { by: "the orchestrator", offsetMs: 100, errorMs: 600 };
  assertStringIncludes(judgeClock([block(-60_000), exact], "linux").text, "the orchestrator");
});

Deno.test("Doctor: a chain is good, old, or lacks the hotkey", () => {
  const facts = { endpoint: "ws://it", netuid: 9, block: 100, headAgeMs: 5_000, blockMs: 12_000, connectMs: 80 };
  const judged = (more: { hotkey: string | null; uid: number | null; headAgeMs?: number }) =>
    judgeChain({ ...facts, ...more });
  assertEquals(judged({ hotkey: null, uid: null }).level, "good");
  assertStringIncludes(judged({ hotkey: "5X", uid: 3 }).text, "uid 3");
  const missing = judged({ hotkey: "5X", uid: null });
  assertEquals([missing.level, missing.fix], [
    "warning",
    "Register it: iota chain register --netuid 9 --endpoint ws://it --hotkey 5X",
  ]);
  assertEquals(judged({ hotkey: null, uid: null, headAgeMs: 900_000 }).level, "wrong");
});

Deno.test("Doctor: findings fit 80 columns, and foreign text cannot steer the terminal", () => {
  const page = { paint: createPaint(false), columns: 80, nameWidth: 12 };
  const text = `a very ${"long ".repeat(40)}text\x1b[2J\nfrom somebody`;
  const lines = findingLines({ name: "orchestrator", ...wrong(text, "Do this first, ".repeat(9)) }, page);
  assert(lines.length > 4 && lines.every((line) => line.length <= 80), lines.join("\n"));
  assert(!lines.join("").includes("\x1b"));
  assertMatch(lines[0]!, /^× orchestrator {2}a very long/);
  const number = findingLines({ name: "disk", ...good(`${"x".repeat(56)} 16.0 KiB`) }, page);
  assertEquals(number[1]?.trim(), "16.0 KiB", "a number stays with its unit");
  assert(lines.some((line) => /^ {16}next {2}Do this first/.test(line)));
});

Deno.test("Doctor: the last line gives the overall verdict", () => {
  const paint = createPaint(false);
  const closing = (...levels: Finding["level"][]) =>
    closingLine(levels.map((level) => ({ name: "it", level, text: "" })), paint);
  assertEquals(closing("good", "skipped"), "Ready.");
  assertEquals(closing("good", "warning"), "Ready, with 1 warning.");
  assertEquals(closing("wrong", "wrong", "warning"), "Not ready: 2 problems to fix, and 1 warning.");
});
