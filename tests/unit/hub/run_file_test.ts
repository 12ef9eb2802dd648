/** A run's file as the commands see it: [hub] as options, paths as rights, a node's file refused by its kind. */

import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command, CommandContext, OptionSpec } from "../../../cli/terminal/command.ts";
import { command as exporting } from "../../../cli/commands/export.ts";
import { command as miner } from "../../../cli/commands/miner.ts";
import { command as orchestrate } from "../../../cli/commands/orchestrate.ts";
import { command as swarm } from "../../../cli/commands/swarm.ts";
import { parseConfigFile } from "../../../cli/terminal/options/config_file.ts";
import { hubOptions, settingName } from "../../../cli/terminal/options/hub_options.ts";
import { main } from "../../../cli/command_line.ts";
import { isRight } from "../../../cli/tools/config/check_config.ts";
import { wordsOfHub } from "../../../cli/terminal/options/run_file.ts";
import type { HeldRights } from "../../../cli/rights/rights.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

interface Seen {
  readonly code: number;
  readonly stderr: string;
  readonly held: HeldRights | undefined;
  readonly context: CommandContext | null;
}

/** The command without its work. */
async function see(command: Command, words: readonly string[]): Promise<Seen> {
  let context: CommandContext | null = null;
  const run = (given: CommandContext) => {
    context = given;
    return Promise.resolve(0);
  };
  const idle: Command = { ...command, run };
  const host = new FakeHost({ env: { HOME: "/me" } });
  const table = { [command.name]: () => Promise.resolve(idle) };
  const code = await main([command.name, ...words], host, withCommands(table));
  return { code, stderr: host.written.stderr, held: host.held[0], context };
}

async function problemsOf(path: string): Promise<string> {
  const host = new FakeHost({ env: { HOME: "/me" } });
  assertEquals(await main(["config", "check", path], host), 1);
  return host.written.stdout;
}

async function withFile(text: string, body: (path: string, folder: string) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.toml`;
    await Deno.writeTextFile(path, text);
    await body(path, folder);
  });
}

Deno.test("Run file: [hub] sets the orchestrator's options, and typed ones override it", async () => {
  const text = 'name = "own"\n[hub]\nhost = "0.0.0.0"\nport = 7000\ntlsCert = "c.pem"\nlogFile = "hub.log"\n';
  await withFile(text, async (path) => {
    const { code, context } = await see(orchestrate, ["--config", path, "--port", "7001"]);
    assertEquals(code, 0);
    const { options } = context!;
    assertEquals(options.text("host"), "0.0.0.0");
    assertEquals(options.number("port"), 7001);
    assertEquals([options.text("tls-cert"), options.text("log-file")], ["c.pem", "hub.log"]);
    assertEquals(options.given("host"), true);
  });
});

Deno.test("Run file: [hub] can set every orchestrator option that is not a setting of the run", async () => {
  const sampleOf = (spec: OptionSpec) =>
    spec.kind === "string" ? '"x"' : spec.kind === "boolean" ? "true" : spec.default;
  const lines = hubOptions.map((spec) => `${settingName(spec)} = ${sampleOf(spec)}`);
  const text = `[hub]\n${lines.join("\n")}\n`;
  assertEquals(await isRight(text, { purpose: "run", commands: {} }), true, text);
  const words = wordsOfHub(parseConfigFile({ path: "run.toml", text }));
  assertEquals(words.map((word) => word.replace(/=.*/, "")), hubOptions.map(({ name }) => `--${name}`));
});

Deno.test("Run file: each wrong setting of [hub] is named with its line", async () => {
  await withFile('seed = 1\n[hub]\nprt = 1\nport = "x"\nhost = [1]\n', async (path) => {
    const { code, stderr } = await see(orchestrate, ["--config", path]);
    assertEquals(code, 1);
    assertMatch(stderr, /run\.toml:3: There is no setting hub\.prt: did you mean hub\.port\?/);
    assertMatch(stderr, /run\.toml:4: hub\.port must be a whole number from 0 to 65535/);
    assertMatch(
      stderr,
      /run\.toml:5: hub\.host must be a text or a number, but is a list of 1/,
    );
  });
});

Deno.test("Run file: a misspelt table is named with the one that was meant, and [hub] is among those there are", async () => {
  await withFile('[trian]\nsteps = "x"\n[hbu]\nport = 1\n[zoo]\nlions = 3\n', async (path) => {
    const told = await problemsOf(path);
    assertMatch(told, /run\.toml:1: There is no setting trian: did you mean the table \[train\]\?/);
    assertMatch(told, /run\.toml:3: There is no setting hbu.* did you mean the table \[hub\]\?/);
    assertMatch(told, /run\.toml:5: There is no setting zoo.* the tables are model, .*, hub$/m);
  });
});

Deno.test("Rights: the text of a run can be read wherever it was named", async () => {
  const ways: [text: string, words: string[]][] = [
    ['[data]\ncorpus = "/texts/own.txt"\n', []],
    ["", ["--set", "data.corpus=/texts/own.txt"]],
    ["", ["--corpus", "/texts/own.txt"]],
    ['[data]\ncorpus = "/texts/other.txt"\n', ["--set", "data.corpus=/texts/own.txt"]],
  ];
  for (const command of [orchestrate, swarm]) {
    for (const [text, words] of ways) {
      await withFile(text, async (path) => {
        const { held } = await see(command, ["--config", path, ...words]);
        const texts = [held!.read].flat().filter((folder) => folder.startsWith("/texts"));
        assertEquals(texts, ["/texts/own.txt"], `${command.name} ${words}`);
      });
    }
  }
});

Deno.test("Rights: the files of TLS, the log and the wallet can be used wherever they were named", async () => {
  const text = '[hub]\ntlsCert = "/tls/c.pem"\ntlsKey = "/tls/k.pem"\nlogFile = "/log/hub.log"\n' +
    'wallet = "hot"\nwalletPath = "/wallets"\n';
  await withFile(text, async (path) => {
    const { held } = await see(orchestrate, ["--config", path]);
    const read = [held!.read].flat();
    for (const file of ["/tls/c.pem", "/tls/k.pem", "/log/hub.log", "/wallets/hot/hotkeys"]) {
      assertEquals(read.includes(file), true, file);
    }
    assertEquals([held!.write].flat().includes("/log/hub.log"), true);
    assertEquals([held!.write].flat().includes("/tls/k.pem"), false);
  });
});

Deno.test("Run file: given to a node it is refused by its kind, not as a crash", async () => {
  for (const text of ['name = "own"\n[train]\nsteps = 3\n', "[hub]\nport = 1\n", "train = { steps = 3 }\n"]) {
    await withFile(text, async (path) => {
      const { code, stderr } = await see(miner, ["--config", path]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, "it holds the settings of a run");
      assertStringIncludes(stderr, "iota config init --for miner miner.toml");
    });
  }
});

Deno.test("Run file: a node's file in its place is refused by its kind", async () => {
  await withFile('orchestrator = "ws://10.0.0.5:9009"\nwallet = "hot"\n', async (path) => {
    for (const command of [orchestrate, swarm]) {
      const { code, stderr } = await see(command, ["--config", path]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, "it holds the options of a node");
      assertStringIncludes(stderr, `iota miner --config ${path}`);
    }
  });
});

Deno.test("Rights: a checkpoint that is named as a model comes with its run, where its tokenizer is", async () => {
  const read = async (command: Command, ...words: string[]) => (await see(command, words)).held?.read;
  const checkpoint = "/runs/a/checkpoints/round-000001";
  for (const [command, option] of [[orchestrate, "--from"], [swarm, "--from"], [exporting, "--model"]] as const) {
    const held = await read(command, option, checkpoint);
    assertEquals([held?.includes(checkpoint), held?.includes("/runs/a")], [true, true], option);
    const other = await read(command, option, "/runs/a/other/round-000001");
    assertEquals([other?.includes("/runs/a/other/round-000001"), other?.includes("/runs/a")], [true, false], option);
  }
});
