/** The first lines of a run: sentences for anybody; the numbers behind them with --verbose, and in the log file. */

import { assertEquals, assertMatch } from "@std/assert";
import {
  describeResult,
  describeRun,
  describeSettings,
  parametersText,
  sayRun,
} from "../../../cli/orchestrator/run/describe_run.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { deviceSentence } from "../../../cli/device/open_device.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

type Opened = Parameters<typeof deviceSentence>[0];

Deno.test("First lines: the device in words, and that no GPU was found", () => {
  const sentence = (adapter: Partial<Opened["adapter"]>, reason: string | null, threads: number | null = null) =>
    deviceSentence({ adapter, reason, threads } as Opened);
  assertEquals(sentence({ device: "cpu" }, "no GPU was found", 1), "No GPU found: computing on the processor");
  assertEquals(sentence({ device: "cpu" }, null, 8), "Computing on the processor, 8 threads");
  assertEquals(
    sentence({ device: "webgpu", name: "NVIDIA H100", isSoftware: false }, null),
    "Computing on NVIDIA H100",
  );
  assertEquals(
    sentence({ device: "webgpu", name: "llvmpipe", isSoftware: true }, "9.1 GFLOP/s, the processor itself 4.0"),
    "No GPU found: computing on the driver llvmpipe",
  );
});

Deno.test("First lines: a run is its size, its pipeline and its steps; the other numbers are for --verbose", () => {
  const config = tinyConfig();
  const shownBy = (verbose: boolean) => {
    const host = new FakeHost();
    const output = new TerminalOutput({ host, json: false, quiet: false, verbose, noColor: true });
    let log = "";
    output.copyTo((line) => log += `${line}\n`, { stampOf: () => "" });
    sayRun(output, config);
    return { shown: host.written.stdout, log };
  };
  const { shown, log } = shownBy(false);
  assertMatch(
    shown,
    /^Training .*, [\d,.]+ (M )?parameters: \d+ stages? x \d+ miners?, [\d,]+ steps? of [\d,]+ tokens\n(A|Not a) plain Llama: .*\n$/,
  );
  assertEquals(shown, `Training ${describeRun(config)}\n${describeResult(config)}\n`);
  for (const line of describeSettings(config)) {
    assertEquals([log.includes(line), shown.includes(line)], [true, false]);
    assertEquals(shownBy(true).shown.includes(line), true);
  }
});

Deno.test("First lines: parameters are counted in the unit that people use for their size", () => {
  assertEquals([49_312, 1_068_800, 1_240_000_000].map(parametersText), [
    "49,312 parameters",
    "1.07 M parameters",
    "1.24 billion parameters",
  ]);
});

Deno.test("Summary: its closing lines are for people, below the table, and not in JSON or with --quiet", () => {
  const printed = ({ json = false, quiet = false }) => {
    const host = new FakeHost();
    const output = new TerminalOutput({ host, json, quiet, verbose: false, noColor: true });
    output.summary({ steps: 4 }, ["", "What next"]);
    output.close();
    return host.written.stdout;
  };
  assertEquals(printed({}), "steps  4\n\nWhat next\n");
  assertEquals(printed({ json: true }), '{"type":"summary","steps":4}\n');
  assertEquals(printed({ quiet: true }), "steps  4\n");
});
