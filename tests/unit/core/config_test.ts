/** The configuration: precedence, the sentence of every problem, foreign objects, printing. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "smol-toml";
import type { RunConfig } from "../../../core/config/config.ts";
import { describeConfig } from "../../../core/settings/describe.ts";
import type { KnobValue, NumberKnob } from "../../../core/config/knob.ts";
import { knobAt, knobGroups, knobPaths } from "../../../core/config/knobs.ts";
import { parseRunConfig, resolveConfig, type ResolvedConfig, valueFromText } from "../../../core/settings/parse.ts";

function resolved(result: ResolvedConfig): { config: RunConfig; origins: Readonly<Record<string, string>> } {
  assert(result.ok, result.ok ? "" : result.problems.map(({ text }) => text).join("\n"));
  return result;
}

function texts(result: ResolvedConfig): string[] {
  assert(!result.ok, "a problem is expected");
  return result.problems.map(({ text }) => text);
}

function leaves(value: object, prefix = ""): string[] {
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "object" && inner !== null ? leaves(inner, `${prefix}${key}.`) : [`${prefix}${key}`]
  );
}

Deno.test("Knobs: every leaf of a configuration has exactly one knob", () => {
  const notOmitted = {
    "pipeline.gradientBits": 4,
    "pipeline.sideWidth": 8,
    ...{ "model.ropeFactor": 8, "model.ropeLowFrequency": 2, "model.ropeHighFrequency": 5 },
    ...{ "model.ropeOriginalContext": 64, "train.schedule": "cosine" },
    ...{ "train.optimizer": "muon", "train.mergeShare": 0.2, "train.mostStepsPerRound": 50 },
    ...{
      "outer.payload": "sparse",
      "outer.density": 1 / 16,
      "outer.reducers": "hub",
      "sample.prompt": "Once",
      "sample.tokens": 9,
    },
    "pipeline.boundaries": "1=none",
    "validate.evaluationShare": 0.1,
  };
  const { config } = resolved(resolveConfig({ overrides: notOmitted }));
  assertEquals([...leaves(config)].sort(), [...knobPaths].sort());
  assertEquals(new Set(knobPaths).size, knobPaths.length);
});

Deno.test("Knobs: every one has a sentence, and limits in order", () => {
  for (const path of knobPaths) {
    const knob = knobAt(path);
    assert(/^[A-Z].*\.$/.test(knob.doc), `${path}: ${knob.doc}`);
    if (knob.kind === "int" || knob.kind === "float") assert(knob.min < knob.max, path);
  }
});

Deno.test("Configuration: a flag beats the file, the file beats the size, the size beats nothing", () => {
  const file = { size: "small", train: { steps: 77, learningRate: 0.01 } };
  const { config, origins } = resolved(resolveConfig({ file, overrides: { "train.steps": 99 } }));
  assertEquals([config.size, origins["size"]], ["small", "file"]);
  assertEquals([config.train.steps, origins["train.steps"]], [99, "flag"]);
  assertEquals([config.train.learningRate, origins["train.learningRate"]], [0.01, "file"]);
  assertEquals([config.model.width, origins["model.width"]], [256, "size"]);
  assertEquals([config.train.beta1, origins["train.beta1"]], [0.9, "default"]);
});

Deno.test("Configuration: the size of the flag replaces the size of the file", () => {
  const { config, origins } = resolved(resolveConfig({ size: "toy", file: { size: "1b" } }));
  assertEquals([config.size, config.model.width, origins["size"]], ["toy", 32, "flag"]);
});

Deno.test("Configuration: a shorter run shortens what depends on its length", () => {
  const { config } = resolved(resolveConfig({ size: "1b", overrides: { "train.steps": 5 } }));
  assertEquals([config.train.stepsPerRound, config.train.warmupSteps, config.train.joinWarmupSteps], [5, 2, 1]);
  const longest = (steps: number, given = {}) =>
    resolved(resolveConfig({ overrides: { "train.steps": steps, ...given } })).config.train.mostStepsPerRound;
  assertEquals([longest(5), longest(60), longest(640)], [1, 8, undefined], "an eighth, up to the default of 30");
  assertEquals(longest(60, { "train.mostStepsPerRound": 20 }), 20);
});

Deno.test("Configuration: rounds of a size are measured, except where a run must repeat to the bit", () => {
  assertEquals(resolved(resolveConfig({})).config.train.stepsPerRound, 0);
  const { config } = resolved(resolveConfig({ overrides: { deterministic: true } }));
  assert(config.train.stepsPerRound > 0);
  const both = texts(resolveConfig({ overrides: { deterministic: true, "train.stepsPerRound": 0 } }));
  assertStringIncludes(both.join("\n"), "train.stepsPerRound must be 1 or more");
});

Deno.test("Configuration: sparse payloads take no outer momentum, and twice the step where others average plainly", () => {
  const outerOf = (size: string, overrides: Record<string, KnobValue> = {}) => {
    const { outer } = resolved(resolveConfig({ size, overrides: { "outer.payload": "sparse", ...overrides } })).config;
    return [outer.learningRate, outer.momentum];
  };
  assertEquals(outerOf("tiny"), [2, 0]);
  assertEquals(outerOf("tiny", { "outer.learningRate": 1 }), [1, 0]);
  assertEquals(outerOf("tiny", { "outer.momentum": 0.9 }), [1, 0.9]);
  assertEquals(outerOf("100m"), [1, 0]);
  assertEquals(outerOf("100m", { "outer.momentum": 0 }), [1, 0]);
  assertEquals(outerOf("100m", { "outer.payload": "int8" }), [0.7, 0.9]);
});

Deno.test("Configuration: frames, queues and blobs grow with what a run sends", () => {
  const { config } = resolved(
    resolveConfig({ size: "1b", overrides: { "pipeline.codec": "none", "train.sequencesPerMicrobatch": 1 } }),
  );
  assert(config.limits.frameBytes >= 3 * 2048 * 2048 * 4);
  assert(config.limits.outboxBytes >= config.limits.frameBytes);
  assert(config.limits.blobBytes >= 4 * 600e6);
});

const wrongFields: readonly [name: string, file: unknown, text: string][] = [
  [
    "a number out of range",
    { train: { learningRate: 5 } },
    "train.learningRate must be between 1e-7 and 1, and is 5",
  ],
  ["no number at all", { train: { learningRate: NaN } }, "must be between 1e-7 and 1, and is NaN"],
  ["infinity", { train: { steps: Infinity } }, "must be between 1 and 100000000, and is Infinity"],
  [
    "a text for a number",
    { train: { steps: "many" } },
    'train.steps must be a whole number between 1 and 100000000, and is "many"',
  ],
  [
    "a fraction for a count",
    { train: { steps: 1.5 } },
    "train.steps must be a whole number, and is 1.5",
  ],
  [
    "a huge integer",
    { seed: 2n ** 70n },
    "must be a whole number between 0 and 4294967295, and is 1180591620717411303424",
  ],
  [
    "a number that does not divide",
    { model: { width: 100 } },
    "model.width must be a multiple of 32, and is 100",
  ],
  ["a text for a switch", { deterministic: "yes" }, 'must be true or false, and is "yes"'],
  [
    "an unknown choice",
    { pipeline: { codec: "zip" } },
    'must be one of none, iota, resbm, q4block, q5block, q6block, and is "zip"',
  ],
  [
    "an unknown size",
    { size: "huge" },
    'must be one of toy, tiny, small, 100m, 1b, 3b, 8b, 15b, and is "huge"',
  ],
  ["a name for a path", { name: "../../etc" }, "must be letters, digits, dots, dashes and underscores"],
  ["a long name", { name: "a".repeat(65) }, "must be at most 64 characters long"],
  ["an empty corpus", { data: { corpus: " " } }, 'must be "sotu" or the path of a text or dataset'],
  [
    "a table for a leaf",
    { seed: { x: 1 } },
    "must be a whole number between 0 and 4294967295, and is a table",
  ],
  ["a list for a leaf", { seed: [1] }, "must be a whole number between 0 and 4294967295, and is a list of 1"],
  ["a date for a leaf", { name: new Date(0) }, "and is a date"],
  ["nothing for a leaf", { name: null }, "and is nothing"],
  ["a leaf for a table", { train: 3 }, "train must be a table, [train], and is 3"],
  ["a list for the whole", [], "The configuration must be a table, and is a list of 0"],
  [
    "a misspelt key",
    { train: { learningrate: 0.1 } },
    "There is no setting train.learningrate: did you mean train.learningRate?",
  ],
  ["a key in the wrong table", { steps: 3 }, "There is no setting steps: did you mean train.steps?"],
  [
    "an unknown key",
    { swarm: { sharks: 3 } },
    "There is no setting swarm.sharks: [swarm] has replicas, validators, gatherMs",
  ],
  [
    "an unknown table",
    { zoo: { lions: 3 } },
    "There is no setting zoo: the tables are model, pipeline",
  ],
  [
    "a dotted key in quotes",
    { "train.steps": 3 },
    'There is no setting "train.steps": did you mean train.steps?',
  ],
  ["a prototype key", JSON.parse('{"__proto__": {"x": 1}}'), "There is no setting __proto__"],
  ["a key of every object", { constructor: 1 }, "There is no setting constructor"],
];

for (const [name, file, text] of wrongFields) {
  Deno.test(`Configuration: ${name} is one named problem`, () => {
    const found = texts(resolveConfig({ file }));
    assertEquals(found.length, 1, found.join("\n"));
    assertStringIncludes(found[0]!, text);
  });
}

const brokenRules: readonly [overrides: Record<string, unknown>, text: string][] = [
  [
    { "model.heads": 5 },
    "model.width must be divisible by model.heads; now model.heads = 5, model.width = 128",
  ],
  [
    { "model.width": 160, "model.heads": 4, "model.kvHeads": 3 },
    "model.heads must be divisible",
  ],
  [{ "model.width": 32, "model.heads": 16 }, "must be a multiple of 4"],
  [
    { "pipeline.bottleneckWidth": 256 },
    "pipeline.bottleneckWidth must not be larger",
  ],
  [{ "pipeline.stages": 7, "model.layers": 3 }, "every stage needs a layer"],
  [{ "model.layers": 2, "pipeline.stages": 3 }, "every stage needs a layer"],
  [
    { "train.stepsPerRound": 500 },
    "train.stepsPerRound must not be larger than train.steps",
  ],
  [{ "train.warmupSteps": 500 }, "train.warmupSteps must"],
  [{ "model.ropeHighFrequency": 1 }, "model.ropeHighFrequency must be larger"],
  [{ "train.beta1": 0.98 }, "train.beta2 must exceed the square of train.beta1"],
  [
    { "train.learningRate": 0.03 },
    "train.learningRate must be at most 0.02 with muon, because at 0.05 audits of honest " +
    "gradients were off by up to 0.81 %, too near the 1 % that proves a lie",
  ],
  [
    { "train.learningRate": 0.02, "train.optimizer": "adamw" },
    "train.learningRate must be at most 0.01 with adamw",
  ],
  [{ "train.beta2": 0.99999 }, "train.beta2 must exceed the square of train.beta1"],
  [
    { "swarm.replicas": 65 },
    "swarm.replicas must not be larger than limits.minersPerStage",
  ],
  [{ "limits.frameBytes": 65536 }, "limits.frameBytes must be at least"],
  [
    { "train.sequencesPerMicrobatch": 1024, "model.contextLength": 65_536 },
    "limits.frameBytes",
  ],
  [{ "limits.outboxBytes": 65536 }, "limits.outboxBytes must"],
  [{ "limits.blobBytes": 65536 }, "limits.blobBytes must be at least"],
];

for (const [overrides, text] of brokenRules) {
  Deno.test(`Configuration: ${JSON.stringify(overrides)} breaks a rule between knobs`, () => {
    const found = texts(resolveConfig({ overrides }));
    assert(found.some((line) => line.includes(text)), found.join("\n"));
  });
}

Deno.test("Configuration: all problems are reported at once, in the order of the file", () => {
  const file = { train: { steps: 0, learningRate: "fast" }, zoo: 1, model: { heads: 0 } };
  const result = resolveConfig({ file, overrides: { "train.beta1": 2 } });
  assert(!result.ok);
  assertEquals(result.problems.map(({ path, origin }) => [path, origin]), [
    ["train.steps", "file"],
    ["train.learningRate", "file"],
    ["zoo", "file"],
    ["model.heads", "file"],
    ["train.beta1", "flag"],
  ]);
});

Deno.test("Configuration: a flood of unknown keys gets a bounded answer", () => {
  const file = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${"k".repeat(200)}${i}`, i]));
  assert(texts(resolveConfig({ file })).length <= 20);
  assert(texts(resolveConfig({ file })).every((text) => text.length < 300));
});

Deno.test("Configuration: one that arrives as JSON is taken whole", () => {
  const { config } = resolved(resolveConfig({ size: "small" }));
  const arrived = parseRunConfig(JSON.parse(JSON.stringify(config)));
  assert(arrived.ok);
  assertEquals(arrived.value, config);
});

Deno.test("Configuration: one that arrives without a field, with a strange one or a broken rule is a fault", () => {
  const { config } = resolved(resolveConfig({}));
  const { seed: _, ...seedless } = config;
  const cases: [foreign: unknown, detail: string][] = [
    [seedless, "seed must be a whole number"],
    [{ ...config, extra: 1 }, "There is no setting extra"],
    [{ ...config, train: { ...config.train, extra: 1 } }, "There is no setting train.extra"],
    [{ ...config, train: { ...config.train, steps: -1 } }, "train.steps must"],
    [{ ...config, model: { ...config.model, heads: 5 } }, "model.width must be divisible by model.heads"],
    [{ ...config, "train.steps": 5 }, "There is no setting"],
    [null, "must be a table, and is nothing"],
    ["config", "must be a table"],
    [new Map(), "must be a table"],
  ];
  for (const [foreign, detail] of cases) {
    const result = parseRunConfig(foreign);
    assert(!result.ok, detail);
    assertEquals(result.fault.code, "malformedMessage");
    assertStringIncludes(result.fault.detail, detail);
  }
});

Deno.test("Configuration: the output is a TOML file that gives the same configuration", () => {
  for (const size of ["toy", "tiny", "1b"]) {
    const { config, origins } = resolved(resolveConfig({ size, overrides: { "train.steps": 33 } }));
    const lines = describeConfig(config, origins as Parameters<typeof describeConfig>[1]);
    assertEquals(resolved(resolveConfig({ file: parse(lines.join("\n")) })).config, config);
    assert(lines.some((line) => /^steps = 33 +# steps, flag; Optimizer steps/.test(line)), lines.join("\n"));
    assertEquals(lines.filter((line) => line.startsWith("[")), knobGroups.map((group) => `[${group}]`));
    assert(lines.every((line) => line.length <= 140));
  }
});

Deno.test("Configuration: sides and bits of gradients go with the size's own wire, not with a width that is given", () => {
  const tiny = (overrides: Record<string, unknown>) => resolved(resolveConfig({ size: "tiny", overrides })).config;
  const wireWith = (overrides: Record<string, unknown>) => {
    const { sideWidth = 0, gradientBits = 8 } = tiny(overrides).pipeline;
    return [sideWidth, gradientBits];
  };
  assertEquals([wireWith({}), wireWith({ "model.width": 32 })], [[64, 7], [32, 7]]);
  for (const own of [["codec", "none"], ["boundaries", "1=none 2=none"], ["stages", 1], ["bottleneckWidth", 24]]) {
    assertEquals(wireWith({ [`pipeline.${own[0]}`]: own[1] }), [0, 8], "the last as in files that know neither");
  }
  assertEquals(wireWith({ "pipeline.bottleneckWidth": 24, "pipeline.sideWidth": 8 }), [8, 8]);
  const config = tiny({ "pipeline.sideWidth": 0, "pipeline.gradientBits": 8 });
  assertEquals(resolved(resolveConfig({ file: config as unknown as Record<string, unknown> })).config, config);
});

Deno.test("Configuration: a value at its limits is taken, one step beyond is not", () => {
  for (const path of knobPaths) {
    const knob = knobAt(path);
    if (knob.kind !== "int" && knob.kind !== "float") continue;
    for (const [value, isRight] of edges(knob)) {
      const result = resolveConfig({ overrides: { [path]: value } });
      const isRefused = !result.ok &&
        result.problems.some(({ text }) => text.startsWith(`${path} must`) && text.includes(", and is "));
      assertEquals(isRefused, !isRight, `${path} = ${value}`);
    }
  }
});

function edges({ min, max, kind }: NumberKnob): [value: number, isRight: boolean][] {
  const step = kind === "int" ? 1 : Math.max(1, Math.abs(max)) * 1e-9;
  return [[min, true], [max, true], [min - step, false], [max + step, false]];
}

Deno.test("Flags: a text becomes the value its knob wants, or stays for the problem to show", () => {
  assertEquals(valueFromText({ path: "train.steps", text: "40" }), 40);
  assertEquals(valueFromText({ path: "train.learningRate", text: "1e-3" }), 0.001);
  assertEquals(valueFromText({ path: "deterministic", text: "true" }), true);
  assertEquals(valueFromText({ path: "deterministic", text: "1" }), "1");
  assertEquals(valueFromText({ path: "train.steps", text: "" }), "");
  assertEquals(valueFromText({ path: "train.steps", text: "many" }), "many");
  assertEquals(valueFromText({ path: "name", text: "42" }), "42");
  assertEquals(valueFromText({ path: "no.such", text: "42" }), "42");
});
