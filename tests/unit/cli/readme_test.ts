/** The table of sizes in the README is what the planner says. */

import { assert, assertEquals } from "@std/assert";
import { FakeHost } from "../../support/fake_host.ts";
import { main } from "../../../cli/main.ts";

interface PlannedStage {
  readonly type: string;
  readonly bytes: number;
  readonly wireBytes: { readonly received: number; readonly sent: number };
  readonly trainingMbitPerTflops: number;
  readonly mergingMbitPerTflops: number;
}

async function planned(size: string, ...more: string[]): Promise<PlannedStage[]> {
  const host = new FakeHost();
  assertEquals(await main(["plan", "--size", size, ...more, "--json"], host), 0, host.written.stderr);
  const lines = host.written.stdout.trim().split("\n").map((line) => JSON.parse(line) as PlannedStage);
  return lines.filter(({ type }) => type === "stage");
}

const units: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Whether a rounded amount such as `15.8 GiB` is this many bytes. */
function isAbout(text: string, bytes: number): boolean {
  const [value = "", unit = ""] = text.split(" ");
  return Math.abs(Number(value) - bytes / (units[unit] ?? NaN)) <= 0.051;
}

Deno.test("README: the table of sizes is what the planner says", async () => {
  const readme = await Deno.readTextFile(new URL("../../../README.md", import.meta.url));
  const rows = readme.split("\n").filter((line) => /^\| `\w+` +\|.*GiB|^\| `\w+` +\|.*KiB/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  assert(rows.length >= 7, `${rows.length} rows`);
  for (const [name = "", , stages, memory = "", wires = "", ...links] of rows) {
    const size = name.replaceAll("`", "");
    const plan = await planned(size);
    const most = (of: (stage: PlannedStage) => number, stages = plan) => Math.max(...stages.map(of));
    assertEquals(stages, String(plan.length), name);
    assert(isAbout(memory, most(({ bytes }) => bytes)), `${name}: ${memory} for ${most(({ bytes }) => bytes)} bytes`);
    const task = most(({ wireBytes: { received, sent } }) => Math.max(received, sent));
    assert(isAbout(wires, task), `${name}: ${wires} for ${task} bytes`);
    if (links[0] === "–") continue;
    const merging = ({ mergingMbitPerTflops }: PlannedStage) => mergingMbitPerTflops;
    const expected = [
      most(({ trainingMbitPerTflops }) => trainingMbitPerTflops),
      most(merging),
      most(merging, await planned(size, "--merge", "sparse")),
    ];
    assertEquals(links, expected.map((each) => (10 * each).toFixed(1)), name);
  }
});
