/** Settings of a resumed run: which may change, how a change is applied, recorded and refused. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { parse } from "smol-toml";
import {
  changesBetween,
  describeChange,
  lastingSettings,
  mayChange,
  type SettingChange,
  withChanges,
} from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import { valueAt } from "../../../core/settings/derive.ts";
import { parseRunConfig, resolveConfig } from "../../../core/settings/parse.ts";
import { changedRunText, isRunText, restoredRunText, runText } from "../../../cli/orchestrator/run/run_text.ts";

function resolved(overrides: Record<string, unknown> = {}) {
  const result = resolveConfig({ size: "toy", overrides });
  assert(result.ok);
  return result;
}

const ropeScaling = ["ropeFactor", "ropeLowFrequency", "ropeHighFrequency", "ropeOriginalContext"];

const rate: SettingChange = { path: "train.learningRate", from: 0.005, to: 0.002 };

Deno.test("Changes: what may change is a choice for each setting, and a new setting may not", () => {
  assertEquals(
    knobPaths.filter((path) => !mayChange(path)),
    [
      ...["name", "seed", "size", "deterministic"],
      ...[
        "vocabSize",
        "width",
        "layers",
        "heads",
        "kvHeads",
        "ffnWidth",
        "contextLength",
        "ropeBase",
        ...ropeScaling,
        "normEpsilon",
      ]
        .map((key) => `model.${key}`),
      ...["stages", "codec", "bottleneckWidth", "gradientBits", "sideWidth", "boundaries"].map((key) =>
        `pipeline.${key}`
      ),
      ...["sequencesPerMicrobatch", "microbatchesPerStep", "optimizer", "beta1", "beta2", "epsilon", "weightDecay"]
        .map((key) => `train.${key}`),
      ...["outer.learningRate", "outer.momentum", "outer.payload", "outer.density"],
      ...["data.corpus", "data.heldOutFraction", "data.maxBytes", "validate.heldOutSequences", "chain.netuid"],
    ],
  );
});

Deno.test("Changes: a configuration with changes differs in these, and another run's hash does not", () => {
  const before = resolved().config;
  const after = withChanges(before, [rate, { path: "train.steps", from: 20, to: 40 }]);
  assertEquals([after.train.learningRate, after.train.steps, before.train.steps], [0.002, 40, 20]);
  assertEquals(changesBetween(before, after).map(({ path }) => path), ["train.steps", "train.learningRate"]);
  assertEquals(lastingSettings(after), lastingSettings(before));
  assertEquals(describeChange(rate), "train.learningRate: 0.005 → 0.002");
  const other: SettingChange = { path: "model.width", from: 32, to: 64 };
  assertThrows(() => withChanges(before, [other]), Error, "model.width is fixed");
});

Deno.test("Changes: AdamW is left out of a configuration, as by versions that know no other; Muon is part of it", () => {
  const { config } = resolved();
  const named = resolved({ "train.optimizer": "adamw" }).config;
  const muon = resolved({ "train.optimizer": "muon" }).config;
  assertEquals(JSON.stringify(named), JSON.stringify(config));
  assertEquals("optimizer" in config.train, false);
  assertEquals([valueAt(config, "train.optimizer"), valueAt(muon, "train.optimizer")], ["adamw", "muon"]);
  assertEquals(lastingSettings(config).some(([path]) => path === "train.optimizer"), false);
  assertEquals(lastingSettings(muon).filter(([path]) => path === "train.optimizer"), [["train.optimizer", "muon"]]);
  assertEquals(changesBetween(config, muon).map(describeChange), ['train.optimizer: "adamw" → "muon"']);
  for (const each of [config, muon]) {
    const arrived = parseRunConfig(JSON.parse(JSON.stringify(each)));
    assert(arrived.ok);
    assertEquals(arrived.value, each);
    assertEquals(withChanges(each, []), each);
  }
  const wrong = parseRunConfig({ ...config, train: { ...config.train, optimizer: "sgd" } });
  assert(!wrong.ok);
  assertEquals(
    wrong.fault.detail,
    'train.optimizer must be one of adamw, muon, and is "sgd"',
  );
});

Deno.test("Changes: run.toml has the new value in its place, every change at its end, and still is the configuration", () => {
  const { config, origins } = resolved();
  const wait: SettingChange = { path: "limits.leaseMs", from: 30_000, to: 60_000 };
  let now: RunConfig = config;
  let text = runText(config, origins);
  for (const [step, change] of [[120, rate], [180, wait]] as const) {
    now = withChanges(now, [change]);
    text = changedRunText(text, { config: now, changes: [change], step });
    const read = resolveConfig({ file: parse(text) });
    assert(read.ok);
    assertEquals(read.config, now);
  }
  const lines = text.split("\n");
  assert(lines.some((line) => /^learningRate = 0\.002 .*# changed at step 120; Peak/.test(line)), text);
  assertEquals(lines.filter((line) => line.startsWith("learningRate = 1 ")).length, 1, "the outer rate stays");
  assertEquals(lines.slice(-3), [
    "# Changed at step 120: train.learningRate: 0.005 → 0.002",
    "# Changed at step 180: limits.leaseMs: 30000 → 60000",
    "",
  ]);
});

Deno.test("Changes: a run.toml that was taken away comes back as a file with the run's values, known as iota's own", () => {
  const { config } = resolved();
  const text = restoredRunText(config);
  const read = resolveConfig({ file: parse(text) });
  assert(read.ok);
  assertEquals(read.config, config);
  assertEquals([isRunText(text), isRunText(""), isRunText('size = "toy"\n')], [true, true, false]);
});
