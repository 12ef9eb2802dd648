/** The TOML file of a run: lines of settings, syntax errors, files that are not there. */

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { parseConfigFile, placeProblems, readConfigFile } from "../../../cli/terminal/options/config_file.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";

const text = `# a run
name = "demo"   # steps = 3
seed = 7

[train]
steps = 40
learningRate = 5

[ model ]   # shape
  "width" = 100
note = """
steps = 1
[data]
"""
pipeline = 3
swarm.replicas = 2
[data]
corpus = '''one line'''
maxBytes = 0
`;

Deno.test("Configuration file: every setting has its line", () => {
  const file = parseConfigFile({ path: "run.toml", text });
  const lines: [setting: string, line: number | null][] = [
    ["name", 2],
    ["seed", 3],
    ["train", 5],
    ["train.steps", 6],
    ["train.learningRate", 7],
    ["model", 9],
    ["model.width", 10],
    ["model.note", 11],
    ["data", 17],
    ["data.corpus", 18],
    ["data.maxBytes", 19],
    ["train.beta1", 5], // not there: its table is
    ["limits.leaseMs", null],
    ["deterministic", null],
  ];
  for (const [setting, line] of lines) assertEquals(file.lineOf(setting), line, setting);
});

Deno.test("Configuration file: inline tables and dotted keys have lines too", () => {
  const file = parseConfigFile({
    path: "run.toml",
    text: "train = { steps = 0 }\nmodel.width = 64\nmodel . 'heads' = 2\n",
  });
  assertEquals([file.lineOf("train.steps"), file.lineOf("model.width"), file.lineOf("model.heads")], [1, 2, 3]);
});

Deno.test("Configuration file: Windows line ends count as one", () => {
  const file = parseConfigFile({ path: "run.toml", text: "seed = 1\r\n[train]\r\nsteps = 4\r\n" });
  assertEquals(file.lineOf("train.steps"), 3);
});

Deno.test("Configuration file: problems are printed with file and line", () => {
  const file = parseConfigFile({ path: "run.toml", text: 'seed = 7\n[train]\nlearningRate = 5\nstep = "x"\n' });
  const result = resolveConfig({ file: file.table, overrides: { "train.steps": 0 } });
  assert(!result.ok);
  assertEquals(placeProblems({ problems: result.problems, file }).map((line) => line.slice(0, 60)), [
    "run.toml:3: train.learningRate must be between 1e-7 and 1, and is 5".slice(0, 60),
    "run.toml:4: There is no setting train.step: did you mean train.steps?".slice(0, 60),
    "train.steps must be between 1 and 100000000, and is 0",
  ]);
  assertEquals(placeProblems({ problems: [{ path: "seed", text: "Cannot", origin: "flag" }], file: null }), ["Cannot"]);
});

Deno.test("Configuration file: a syntax error names file, line and column", () => {
  const cases: [text: string, start: string][] = [
    ["seed = 1\n[train\nsteps = 4\n", "run.toml:2:"],
    ["seed = \n", "run.toml:1:"],
    ["seed = 1\nseed = 2\n", "run.toml:2:"],
    ['name = "open\n', "run.toml:1:"],
  ];
  for (const [broken, start] of cases) {
    const error = assertThrows(() => parseConfigFile({ path: "run.toml", text: broken }), UserError);
    assertStringIncludes(error.message, start);
    assert(!error.message.includes("\n"), error.message);
  }
});

Deno.test("Configuration file: integers beyond 2^53 are a named problem, no crash", () => {
  const file = parseConfigFile({ path: "run.toml", text: "seed = 9223372036854775807\n" });
  const result = resolveConfig({ file: file.table });
  assert(!result.ok);
  assertStringIncludes(result.problems[0]!.text, "and is 9223372036854775807");
});

Deno.test("Configuration file: dates, floats and lists parse and are refused by name", () => {
  const file = parseConfigFile({ path: "run.toml", text: "seed = 1979-05-27\nname = [1, 2]\nsize = inf\n" });
  const result = resolveConfig({ file: file.table });
  assert(!result.ok);
  assertEquals(result.problems.map(({ path }) => path), ["seed", "name", "size"]);
});

Deno.test("Configuration file: one that is missing, a folder or too large is a sentence with a next step", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const large = `${folder}/large.toml`;
    await Deno.writeTextFile(large, "#".repeat(2 ** 20 + 1));
    const right = `${folder}/right.toml`;
    await Deno.writeTextFile(right, "seed = 4\n");
    const cases: [path: string, text: string][] = [
      [`${folder}/none.toml`, "it does not exist"],
      [folder, "it is not a file"],
      [large, "more than the limit of 1048576"],
    ];
    for (const [path, sentence] of cases) {
      const error = await assertRejects(() => readConfigFile(path), UserError);
      assertStringIncludes((error as UserError).message, sentence);
      assertStringIncludes((error as UserError).message, path);
      assert((error as UserError).next !== undefined);
    }
    assertEquals({ ...(await readConfigFile(right)).table }, { seed: 4 });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
