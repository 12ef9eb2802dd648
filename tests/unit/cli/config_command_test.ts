/** `iota config`: what it shows, which problems it finds on which line, what it writes; the program as a function. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { knobPaths } from "../../../core/config/knobs.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { meaningOf } from "../../../cli/tools/config/meaning.ts";
import { withoutData } from "../../../cli/tools/config/init_config.ts";
import { main } from "../../../cli/command_line.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function config(...words: string[]): Promise<Ran> {
  const host = new FakeHost({ env: { HOME: "/nowhere" } });
  const code = await main(["config", ...words], host);
  return { code, ...host.written };
}

async function withFile(text: string, body: (path: string) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file.toml`, text);
    await body(`${folder}/file.toml`);
  });
}

Deno.test("Config show: every value says whether a flag, a line, the size or the default set it", async () => {
  await withFile('size = "toy"\n\n[train]\nsteps = 7\n', async (path) => {
    const { code, stdout } = await config("show", "--config", path, "--replicas", "3", "--set", "outer.momentum=0.5");
    assertEquals(code, 0);
    assertMatch(stdout, /^size = "toy" +# file\.toml:1 /m);
    assertMatch(stdout, /^steps = 7 +# file\.toml:4 /m);
    assertMatch(stdout, /^replicas = 3 +# --replicas /m);
    assertMatch(stdout, /^momentum = 0\.5 +# --set /m);
    assertMatch(stdout, /^layers = 3 +# size toy /m);
    assertMatch(stdout, /^beta1 = 0\.9 +# default /m);
  });
  const { stdout } = await config("show", "--size", "tiny", "--codec", "none");
  assertMatch(stdout, /^sideWidth = 0 +# other settings /m);
  assertMatch(stdout, /^bottleneckWidth = 8 +# size tiny /m);
});

Deno.test("Config show: its output is a file that gives the same configuration", async () => {
  const shown = await config("show", "--size", "small", "--steps", "77", "--deterministic");
  await withFile(shown.stdout, async (path) => {
    const summaryOf = async (...words: string[]) => {
      const { stdout } = await config("show", "--json", ...words);
      return JSON.parse(stdout.trim().split("\n").at(-1)!).config;
    };
    const once = await summaryOf("--size", "small", "--steps", "77", "--deterministic");
    assertEquals(await summaryOf("--config", path), once);
    assertEquals((await config("check", path)).code, 0);
  });
});

Deno.test("Config show: --changed leaves out defaults, and programs get a line for each setting", async () => {
  const { stdout } = await config("show", "--steps", "5", "--changed", "--json");
  const [setting, summary] = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(setting, { type: "setting", path: "train.steps", value: 5, origin: "flag", line: null });
  assertEquals([summary.settings, summary.config.train.steps], [1, 5]);
});

Deno.test("Config check: every problem of a run's file has its line, and the exit code is 1", async () => {
  await withFile('seed = -1\n[train]\nstep = 3\nlearningRate = "x"\n[modle]\nwidth = 64\n', async (path) => {
    const { code, stdout, stderr } = await config("check", path);
    assertEquals([code, stderr], [1, ""]);
    assertStringIncludes(stdout, `${path}:1: seed must be between`);
    assertStringIncludes(
      stdout,
      `${path}:3: There is no setting train.step: did you mean train.steps?`,
    );
    assertStringIncludes(stdout, `${path}:4: train.learningRate must be a number`);
    assertStringIncludes(stdout, `${path}:5: There is no setting modle`);
    assertStringIncludes(stdout, "has 4 problems: the settings of a run");
  });
});

Deno.test("Config check: a file that is not TOML is one problem with its line", async () => {
  await withFile("seed = 1\n[train\n", async (path) => {
    const { code, stdout } = await config("check", path, "--json");
    const [problem, summary] = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals([code, summary.problems, summary.isValid], [1, 1, false]);
    assertMatch(problem.text, /file\.toml:2:\d+: Cannot read '\[train' as TOML/);
  });
});

Deno.test("Config check: a node's file is recognised by its options, or by --for", async () => {
  await withFile('orchestrator = "ws://a:1"\nlisten = "0.0.0.0:1"\n', async (path) => {
    assertStringIncludes((await config("check", path)).stdout, "is valid: options of iota miner");
    const { code, stdout } = await config("check", path, "--for", "validate");
    assertEquals(code, 1);
    assertStringIncludes(stdout, `${path}:2: This command has no option listen`);
  });
  await withFile('orchestratr = "ws://a:1"\nnetuid = 0\ndevice = "cuda"\nwallet = true\n', async (path) => {
    const { stdout } = await config("check", path);
    assertStringIncludes(
      stdout,
      `${path}:1: This command has no option orchestratr: did you mean orchestrator?`,
    );
    assertStringIncludes(stdout, `${path}:2: netuid must be a whole number from 1 to 4095`);
    assertStringIncludes(
      stdout,
      `${path}:3: device must be one of auto, gpu, cpu, software, webgpu`,
    );
    assertStringIncludes(
      stdout,
      `${path}:4: wallet must be a text or a number, but is true`,
    );
  });
});

Deno.test("Config check: no file, or one that is not there, is a sentence", async () => {
  assertEquals((await config("check")).code, 2);
  const { code, stderr } = await config("check", "/nowhere/run.toml");
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /^error Cannot read the configuration '.*': it does not exist\nnext {2}Check the spelling, or make a new one: iota config init .*\n$/,
  );
});

Deno.test("Config init: each size and each kind passes its own check, and sets no more than it says", async () => {
  await withScratchFolder(async (folder) => {
    for (const size of sizeNames) {
      const path = `${folder}/${size}.toml`;
      assertEquals((await config("init", path, "--size", size)).code, 0);
      assertEquals((await config("check", path)).code, 0);
      const shown = JSON.parse((await config("show", "--config", path, "--json")).stdout.trim().split("\n").at(-1)!);
      const plain = JSON.parse((await config("show", "--size", size, "--json")).stdout.trim().split("\n").at(-1)!);
      assertMatch(shown.config.name, new RegExp(`^${size}-\\d{8}-\\d{6}$`));
      assertEquals({ ...shown.config, name: "iota" }, plain.config, size);
    }
    for (const kind of ["miner", "validate"]) {
      assertEquals((await config("init", `${folder}/${kind}.toml`, "--for", kind)).code, 0);
      assertEquals((await config("check", `${folder}/${kind}.toml`, "--for", kind)).code, 0);
    }
  });
});

Deno.test("Config init: every setting is there with its meaning, and taking a # away sets it", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.toml`;
    await config("init", path);
    const text = await Deno.readTextFile(path);
    assertMatch(text, /^# steps = 300 +# Optimizer steps of the whole run$/m);
    await Deno.writeTextFile(path, text.replaceAll(/^# (?!tls|publicAddress|wallet)(\w+ = )/gm, "$1")); // no such files
    assertEquals((await config("check", path)).stdout, `● ${path} is valid: the settings of a run\n`);
  });
});

Deno.test("Config init: an existing file is kept unless --force is there", async () => {
  await withFile("mine", async (path) => {
    const refused = await config("init", path);
    assertEquals([refused.code, await Deno.readTextFile(path)], [1, "mine"]);
    assertStringIncludes(refused.stderr, "--force");
    assertEquals((await config("init", path, "--force")).code, 0);
    assert((await Deno.readTextFile(path)).startsWith("# Settings of a run"));
  });
  assertEquals((await config("init", "--for", "miner", "--size", "tiny")).code, 2);
  assertEquals((await config("init", "/nowhere/x.toml", "--size", "huge")).code, 2);
});

Deno.test("Config: the meaning of a setting is whole, with its unit", () => {
  for (const path of knobPaths) {
    const meaning = meaningOf(path);
    assert(!/, in (of|miners per|tasks per|validators\b|miners\b)/.test(meaning), `${path}: ${meaning}`);
  }
  assertEquals(meaningOf("train.decayFraction"), "Final share of the run, in which the learning rate decays linearly");
  assertEquals(meaningOf("limits.leaseMs"), "How long a miner has for a task before it goes to another miner, in ms");
});

Deno.test("Config init: a dash is not a file, and a disk that cannot be written is not answered with --data", async () => {
  const dash = await config("init", "-");
  assertEquals(dash.code, 2);
  assertStringIncludes(dash.stderr, "iota config init run.toml; to see the settings: iota config show");
  const readOnly = new UserError("Cannot write", { next: "Pass a folder on another disk with --data DIR" });
  assertEquals((withoutData(readOnly) as UserError).next, "Name a file in a folder on another disk");
  assertEquals(withoutData(new Error("else")) instanceof UserError, false);
});

Deno.test("Config show: --set is the origin of a setting that has an option of its own too", async () => {
  for (
    const set of ["pipeline.codec=q5block", "outer.payload=int8", "train.steps=7", "size=toy", "deterministic=true"]
  ) {
    const { stdout } = await config("show", "--changed", "--set", set);
    assertMatch(stdout, /^\w+ = \S+ +# --set /m);
  }
  const { stdout } = await config("show", "--changed", "--size", "toy", "--deterministic", "--merge", "int8");
  for (const option of ["--size", "--deterministic", "--merge"]) assertStringIncludes(stdout, `# ${option} `);
});

Deno.test("Config show: --set must not give one setting two values", async () => {
  for (
    const words of [["--set", "train.steps=5,train.steps=7"], ["--set", "train.steps=5", "--set", "train.steps=7"]]
  ) {
    const { code, stderr } = await config("show", ...words);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "--set gives train.steps twice with different values: '5' and '7'");
  }
  assertEquals((await config("show", "--set", "train.steps=5", "--set", "train.steps=5.0,seed=3")).code, 0);
});
Deno.test("Config show: an option and --set must not give one setting two values", async () => {
  const settings = [
    ["--codec", "q4block", "pipeline.codec", "none"],
    ["--merge", "int8", "outer.payload", "float32"],
    ["--steps", "5", "train.steps", "6"],
    ["--size", "toy", "size", "tiny"],
  ] as const;
  for (const [option, value, path, other] of settings) {
    const { code, stderr } = await config("show", option, value, "--set", `${path}=${other}`);
    assertEquals(code, 2);
    assertStringIncludes(stderr, `${option} and --set ${path} give one setting different values`);
    assertStringIncludes(stderr, `'${value}' and '${other}'`);
    assertEquals((await config("show", option, value, "--set", `${path}=${value}`)).code, 0);
  }
  assertEquals((await config("show", "--deterministic", "--set", "deterministic=false")).code, 2);
});
