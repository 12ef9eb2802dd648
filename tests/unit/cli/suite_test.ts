/** What a failing suite prints: each failed test once, and the line that repeats it alone, also of a file that does not load. */

import { assertEquals } from "@std/assert";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { failuresIn, repeatLine, suiteModule } from "../../suite.ts";

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
  const line = (file: string, text: string, whole = "") =>
    repeatLine({ name: "Prng: a seed's", file, text }, { folders: ["unit"], whole });
  const name = String.raw`NAME='Prng: a seed'\''s'`;
  assertEquals(line("tests/unit/core/prng_test.ts", ""), `${name} make one FILE=tests/unit/core/prng_test.ts`);
  const trace = "at file:///x/tests/unit/gpu/cpu_stage_test.ts:3:5";
  assertEquals(line("tests/support/where.ts", trace), `${name} make one FILE=tests/unit/gpu/cpu_stage_test.ts`);
  assertEquals(line("tests/support/where.ts", "", "3"), `SEEDS=3 ${name} make one FILE=tests/unit/`);
});

Deno.test("Suite: a file that throws while it is loaded is a failed test, and those beside it run", () =>
  withScratchFolder(async (folder) => {
    const write = (path: string, text: string) => {
      Deno.mkdirSync(`${folder}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
      Deno.writeTextFileSync(`${folder}/${path}`, text);
    };
    const broken = ["tests/unit/throwing_test.ts", "tests/unit/wrong_test.ts"];
    write(broken[0]!, 'throw new Error("zz");');
    write(broken[1]!, "const x: = 3");
    write("tests/unit/sound_test.ts", 'Deno.test("a", () => {});');
    const group = ".cache/suites/unit/unit_1_test.ts";
    write(group, suiteModule([...broken, "tests/unit/sound_test.ts"]));
    const args = ["test", "--no-check", "--no-config", "--junit-path", "report.xml", group];
    const { code } = await new Deno.Command(Deno.execPath(), { args, cwd: folder, stdout: "null", stderr: "null" })
      .output();
    assertEquals(code, 1);
    const xml = Deno.readTextFileSync(`${folder}/report.xml`);
    assertEquals(xml.match(/ tests="3" failures="2"/)?.length, 1);
    assertEquals(
      failuresIn(xml).map((failure) => repeatLine(failure, { folders: ["unit"], whole: "" })),
      broken.map((file) => `make one FILE=${file}`),
    );
  }));
