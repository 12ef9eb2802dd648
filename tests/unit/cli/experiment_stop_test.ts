/** `lab experiment`: Ctrl-C before a run begins, and a device that is not there. Nothing is trained. */

import { lab } from "../../lab/main.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Interrupt } from "../../../cli/rights/host.ts";
import { configOf } from "../../lab/world/lab_settings.ts";
import { runLab } from "../../lab/world/run_lab.ts";
import { main } from "../../../cli/command_line.ts";
import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { isFolder } from "../../../cli/files/disk.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { countingBatches } from "../../lab/world/counting_batches.ts";

/** Ctrl-C is pressed as soon as the command takes it over. */
class InterruptedHost extends FakeHost {
  override onInterrupt(callback: (signal: Interrupt) => void): void {
    super.onInterrupt(callback);
    callback("SIGINT");
  }
}

/** What it says, and the temporary folders it leaves. */
async function experiment(words: string, host: FakeHost = new InterruptedHost()) {
  const { makeTempDir } = Deno;
  const made: string[] = [];
  Deno.makeTempDir = async (options) => {
    const folder = await makeTempDir(options);
    if (options?.prefix === "iota-experiment-") made.push(folder);
    return folder;
  };
  try {
    const code = await main(["experiment", ...words.split(" ")], host, lab);
    const left: string[] = [];
    for (const folder of made) if (await isFolder(folder)) left.push(folder);
    for (const folder of left) await Deno.remove(folder, { recursive: true });
    return { code, ...host.written, left: left.length };
  } finally {
    Deno.makeTempDir = makeTempDir;
  }
}

Deno.test("Lab: a run that was interrupted before it began opens nothing", async () => {
  const config = configOf({ common: {}, input: { size: "toy", overrides: { "train.steps": 2 } }, fixed: {} });
  const opened: number[] = [];
  const run = runLab({
    ...{ config, batches: countingBatches(config), signal: AbortSignal.abort(new Error("enough")) },
    onRecord() {},
    device: {
      adapter: cpuAdapter,
      openStage: (spec, options) => {
        opened.push(spec.index);
        return createCpuStage(spec, options);
      },
      finish: () => Promise.resolve(),
    },
  });
  await assertRejects(() => run, Error, "enough");
  assertEquals(opened, []);
});

for (const name of ["merge", "clasp", "audits"]) {
  Deno.test(`Experiment: ${name}, interrupted at once, trains no row, says so and leaves no folder`, async () => {
    const { code, stdout, left } = await experiment(`${name} --size toy --steps 8 --seeds 1 --threads 1 --json`);
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.filter(({ type }) => type === "run" || type === "row").length, 0, stdout);
    const { type, experiment: ended, rows, finished, reason } = lines.at(-1);
    assertEquals([type, ended, rows, finished, reason], ["summary", name, [], false, "interrupted"]);
    assertEquals([code, left], [1, 0]);
  });
}

for (const name of ["merge", "clasp"]) {
  Deno.test(`Experiment: ${name} leaves no folder where its device is not there`, async () => {
    const { code, left } = await experiment(`${name} --size toy --steps 8 --seeds 1 --device gpu`); // stopped at once where there is one
    assertEquals([code, left], [1, 0]);
  });
}

Deno.test("Experiment: one step and one seed are singular", async () => {
  const { stdout } = await experiment("merge --size toy --steps 1 --seeds 1 --threads 1");
  assertStringIncludes(stdout, "; 1 step, 1 seed");
});

Deno.test("Experiment: help states no default that experiments replace", async () => {
  const { options } = await lab.commands["experiment"]!();
  for (const name of ["stages", "replicas", "validators", "steps", "codec", "merge"]) {
    const { defaultText = "" } = options.find((option) => option.name === name)!;
    assert(defaultText.startsWith("the experiment's"), `${name}: ${defaultText}`);
  }
});
