/** What a failing suite prints: each failed test once, and the line that repeats it alone. */

import { assertEquals } from "@std/assert";
import { failuresIn, repeatLine } from "../../suite.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="4" failures="3" errors="0" time="1">
    <testsuite name="./tests/unit/core/prng_test.ts" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="Prng: it passes" classname="./tests/unit/core/prng_test.ts" time="0.1" line="1" col="6">
        </testcase>
        <testcase name="Prng: a seed&apos;s first &lt;word&gt;" classname="./tests/unit/core/prng_test.ts" time="0.1" line="9" col="6">
            <failure message="Uncaught AssertionError: 1">AssertionError: 1
    at assertEquals (file:///x/tests/shims/std_assert.ts:43:11)</failure>
        </testcase>
    </testsuite>
    <testsuite name="./tests/conformance/compute_suite.ts" tests="2" disabled="0" errors="0" failures="2">
        <testcase name="Stage: head" classname="./tests/conformance/compute_suite.ts" time="0.1" line="1" col="6">
            <failure message="1 test step failed.">1 test step failed.</failure>
        </testcase>
        <testcase name="Stage: head &gt; losses agree" classname="./tests/conformance/compute_suite.ts" time="0.1" line="1" col="6">
            <failure message="Uncaught Error: 2">Error: 2
    at file:///x/tests/conformance/compute_cpu_test.ts:3:5</failure>
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("Suite: of a report the failed tests, and of a step that failed its test", () => {
  assertEquals(failuresIn(report).map(({ name, file }) => [name, file]), [
    ["Prng: a seed's first <word>", "tests/unit/core/prng_test.ts"],
    ["Stage: head", "tests/conformance/compute_suite.ts"],
  ]);
});

Deno.test("Suite: the line that repeats a test names its file, found in the trace where others declare it", () => {
  const deno = "deno test --allow-all --no-check --filter";
  const line = (file: string, text: string, whole = "") =>
    repeatLine({ name: "Prng: a seed's", file, text }, { folders: ["unit"], whole });
  const filter = String.raw`'Prng: a seed'\''s'`;
  assertEquals(line("tests/unit/core/prng_test.ts", ""), `${deno} ${filter} tests/unit/core/prng_test.ts`);
  const trace = "at file:///x/tests/unit/gpu/cpu_stage_test.ts:3:5";
  assertEquals(line("tests/support/where.ts", trace), `${deno} ${filter} tests/unit/gpu/cpu_stage_test.ts`);
  assertEquals(line("tests/support/where.ts", "", "3"), `SEEDS=3 ${deno} ${filter} tests/unit/`);
});
