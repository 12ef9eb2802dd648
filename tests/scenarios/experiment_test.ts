/** The lab of `lab experiment`: its swarm trains like any other, repeats to the bit, and its table is arithmetic on runs. */

import { lab as program } from "../lab/main.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { parseLinks } from "../../cli/swarm/chaos/link_shape.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { type LabResult, runLab } from "../lab/world/run_lab.ts";
import { experiments } from "../lab/experiments/experiments.ts";
import { main } from "../../cli/command_line.ts";
import { resolveConfig } from "../../core/settings/parse.ts";
import type { KnobValue } from "../../core/config/knob.ts";
import { FakeHost } from "../support/fake_host.ts";
import { processor as device } from "../lab/world/devices.ts";
import { countingBatches } from "../lab/world/counting_batches.ts";
import { slowTest } from "../support/whole.ts";

function configOf(overrides: Record<string, KnobValue>) {
  const resolved = resolveConfig({
    size: "toy",
    overrides: { "train.steps": 6, "train.stepsPerRound": 3, "swarm.validators": 0, ...overrides },
  });
  assert(resolved.ok);
  return resolved.config;
}

async function lab(
  overrides: Record<string, KnobValue>,
  { links, slowness = 1 }: { links?: string; slowness?: number } = {},
) {
  const { signal } = new AbortController();
  const config = configOf(overrides);
  const steps: number[] = [];
  const onRecord = (record: RunRecord) => void (record.type === "stepClosed" && steps.push(record.loss));
  const result = await runLab({
    config,
    batches: countingBatches(config),
    device,
    signal,
    onRecord,
    slowness,
    ...(links === undefined ? {} : { links: parseLinks(links)! }),
  });
  return { ...result, steps };
}

const alone = { "pipeline.codec": "none", "swarm.replicas": 1 } as const;

Deno.test("Lab: three stages train like one, and the same run gives the same numbers to the bit", async () => {
  const one: LabResult & { steps: number[] } = await lab({ ...alone, "pipeline.stages": 1 });
  const three = await lab({ ...alone, "pipeline.stages": 3 });
  assertEquals(three.steps.length, 6);
  assertAlmostEquals(three.loss, one.loss, 1e-4);
  assertEquals(await lab({ ...alone, "pipeline.stages": 3 }), three);
  assertLess(three.loss, three.steps[0]!, "it learned");
  assertEquals([three.bytesForward, three.bytesBackward, three.tokens], [128, 128, 6 * 4 * 2 * 16]);
});

Deno.test("Lab: replicas merge, and what a miner uploads is counted by parameter", async () => {
  const uploaded = async (settings: Record<string, KnobValue>) =>
    (await lab({ "swarm.replicas": 2, ...settings })).mergeBytesPerParameter;
  const dense = await uploaded({ "outer.payload": "float32" });
  assertLess(Math.abs(dense / 4 - 1), 0.02, "its payload");
  const twice = await uploaded({ "outer.payload": "float32", "outer.reducers": "replicas" });
  assertLess(Math.abs(twice / 8 - 1), 0.02, "its payload, and each slice reduced twice");
  const sparse = await uploaded({ "outer.payload": "sparse", "outer.density": 1 / 16 });
  assertLess(sparse, 0.025 * dense);
});

slowTest(
  "Lab: lines cost time and no number: each trip its delay, each byte of a merge its share of the rate",
  async () => {
    const settings = { "swarm.replicas": 2, "outer.payload": "int8", "deterministic": true } as const;
    const loopback = await lab(settings);
    const near = await lab(settings, { links: "40ms" });
    const far = await lab(settings, { links: "80ms" });
    const slow = await lab(settings, { links: "40ms 100kbit" });
    const larger = await lab(settings, { slowness: 3 });
    for (const { loss, steps } of [near, far, slow, larger]) {
      assertEquals([loss, steps], [
        loopback.loss,
        loopback.steps,
      ]);
    }
    const msOf = ({ tokensPerSecond }: LabResult) => 1_000 / tokensPerSecond;
    assertAlmostEquals((msOf(far) - msOf(loopback)) / (msOf(near) - msOf(loopback)), 2, 0.3);
    assertLess(2 * msOf(near), msOf(slow));
    assertAlmostEquals(msOf(larger) / msOf(loopback), 3, 1e-6);
  },
);

Deno.test("Lab: an interrupted run ends at once", async () => {
  const controller = new AbortController();
  const config = configOf(alone);
  const options = { config, batches: countingBatches(config), device, signal: controller.signal };
  const run = runLab({
    ...options,
    onRecord(record) {
      if (record.type === "stepClosed" && record.step === 2) controller.abort(new Error("enough"));
    },
  });
  await assertRejects(() => run, Error, "enough");
});

slowTest("Experiment: gaps and their standard error are those of its runs", async () => {
  const host = new FakeHost();
  const words = "experiment codecs --size toy --steps 2 --seeds 2 --threads 1 --json".split(" ");
  assertEquals(await main(words, host, program), 0, host.written.stderr);
  const lines = host.written.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const runs = lines.filter(({ type }) => type === "run");
  const { rows, type } = lines.at(-1);
  assertEquals([type, rows.length, runs.length], ["summary", experiments["codecs"]!.rows.length - 2, 2 * rows.length]);
  assertStringIncludes(
    host.written.stderr,
    "Left out as they are the same runs as earlier rows at this size: iota d/32 (iota d/16)",
  );
  const controlOf = (name: string) => name.endsWith(" + side") ? "none + side" : "none";
  for (const row of rows) {
    const [first, second] = [1, 2].map((seed) => {
      const lossOf = (name: string) => runs.find((run) => run.seed === seed && run.name === name).loss;
      return lossOf(row.name) - lossOf(controlOf(row.name));
    }) as [number, number];
    assertAlmostEquals(row.gap, (first + second) / 2, 1e-12);
    assertAlmostEquals(row.standardError, Math.abs(first - second) / 2, 1e-12);
    assertEquals(row.seeds, 2);
  }
  assertEquals([rows[0].name, rows[0].gap], ["none", 0]);
  const [none, zero] = rows;
  assertEquals([none.utility, zero.name, zero.utility], [1, "zero", 0]);
  const rowOf = (name: string) => rows.find((row: { name: string }) => row.name === name);
  for (const { name, loss, utility } of rows) {
    const [control, saysNothing] = name.endsWith(" + side")
      ? [rowOf("none + side"), rowOf("zero + side")]
      : [none, zero];
    assertAlmostEquals(utility * (saysNothing.loss - control.loss), saysNothing.loss - loss, 1e-12);
  }
});

slowTest(
  "Experiment: --rows keeps the control and the rows that its words name, and refuses words that name none",
  async () => {
    const host = new FakeHost();
    const words = "experiment codecs --size toy --steps 1 --seeds 1 --device cpu --json --rows".split(" ");
    assertEquals(await main([...words, "resbm, q4block d/8"], host, program), 0, host.written.stderr);
    const { rows } = JSON.parse(host.written.stdout.trimEnd().split("\n").at(-1)!);
    assertEquals(rows.map(({ name }: { name: string }) => name), ["none", "resbm d/16", "q4block d/8"]);
    for (const [text, rule] of [["resbm,zip", "No row's name contains 'zip'"], [" , ", "names no row"]] as const) {
      const refused = new FakeHost();
      assertEquals(await main([...words, text], refused, program), 2);
      assertStringIncludes(refused.written.stderr, rule);
    }
    const own = new FakeHost();
    assertEquals(await main(["experiment", "audits", "--rows", "resbm"], own, program), 2);
    assertStringIncludes(own.written.stderr, "audits has no rows to choose");
  },
);

/** Ctrl-C as soon as a text is written. */
function interruptedAt(text: string): FakeHost {
  const host = new FakeHost();
  const write = host.write.bind(host);
  host.write = (stream, written) => {
    write(stream, written);
    if (written.includes(text)) host.interrupt();
  };
  return host;
}

slowTest("Experiment: an interrupted one tells the rows that have ended, to programs and to people", async () => {
  const words = "experiment codecs --size toy --steps 2 --seeds 1 --threads 1 --rows zero,tail".split(" ");
  const host = interruptedAt('"type":"run","name":"zero"');
  assertEquals(await main([...words, "--json"], host, program), 1);
  const { rows, finished, reason } = JSON.parse(host.written.stdout.trimEnd().split("\n").at(-1)!);
  assertEquals([finished, reason], [false, "interrupted"]);
  assertEquals(rows.map(({ name }: { name: string }) => name), ["none", "zero"]);
  const people = interruptedAt("zero ");
  assertEquals(await main(words, people, program), 1);
  assertMatch(people.written.stdout, /2 steps, 1 seed\n/);
  assertMatch(people.written.stdout, /\n\n +bytes forward .*\nnone .*\nzero .*\nfinished +no\nreason +interrupted\n$/);
});

Deno.test("Experiment: clasp without a stage that has a wire on both sides is refused", async () => {
  const host = new FakeHost();
  const words = "experiment clasp --size toy --stages 2 --steps 20 --seeds 1 --device cpu".split(" ");
  assertEquals(await main(words, host, program), 2);
  assertStringIncludes(host.written.stderr, "Cannot measure cheats with 2 stages");
});

Deno.test("Experiment: an unknown name or a wrong setting is refused before anything is computed", async () => {
  const unknown = new FakeHost();
  assertEquals(await main(["experiment", "codex"], unknown, program), 2);
  assertStringIncludes(
    unknown.written.stderr,
    "There is no experiment 'codex', only codecs, merge, swarm, links, clasp, audits",
  );
  const wrong = new FakeHost();
  assertEquals(await main(["experiment", "codecs", "--set", "train.learningRate=-1"], wrong, program), 2);
  assertStringIncludes(wrong.written.stderr, "train.learningRate");
  for (const own of ["pipeline.codec=none", "pipeline.boundaries=1=none, 2=iota:8", "pipeline.sideWidth=8"]) {
    const clash = new FakeHost();
    assertEquals(await main(["experiment", "codecs", "--set", own], clash, program), 2);
    assertStringIncludes(
      clash.written.stderr,
      `Cannot set ${own.split("=")[0]} to `,
    );
  }
});

slowTest("Experiment: audits meet cheats as often as arithmetic says, whatever the share and the stage", async () => {
  const host = new FakeHost();
  const words = "experiment audits --size toy --seeds 1 --steps 240 --set train.stepsPerRound=6 --json".split(" ");
  assertEquals(await main(words, host, program), 0, host.written.stderr);
  const lines = host.written.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const { type, experiment, rows, costs } = lines.at(-1);
  assertEquals([type, experiment, rows.length, costs.length], ["summary", "audits", 3 * 4, 1]);
  assertEquals(lines.filter((line) => line.type === "row").map(({ type: _, ...row }) => row), rows);
  for (const { stepsPerRound, place, share, rounds, tens } of rows) {
    assertEquals([stepsPerRound, rounds.of, tens.of], [6, 3 * 40, 3 * 4], "three miners of each stage, 40 rounds");
    assertEquals([rounds.isWithin, tens.isWithin], [true, true], `${place}, ${share}`);
    if (share === 1) assertEquals(rounds.met, rounds.of);
  }
  const [{ validatorShare, parts }] = costs;
  const sum: number = parts.replays + parts.gradients + parts.evaluations + parts.trials;
  assertAlmostEquals(sum, validatorShare, 1e-12);
  for (const part of Object.values<number>(parts)) assert(part > 0 && part < 0.2, JSON.stringify(parts));
});
