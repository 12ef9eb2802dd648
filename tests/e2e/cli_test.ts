/** `iota` as a real process: what a script and a person rely on. Start time is printed, not asserted: machines differ. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { verifySignature } from "../../chain/wallet/hotkey.ts";
import { loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { selfCommand } from "../../cli/program/self.ts";
import { iota } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const root = new URL("../..", import.meta.url).pathname;

Deno.test("iota: --help answers on stdout, without colours for a pipe, and says how long it took", async () => {
  await iota(["--help"]); // fills the module cache
  const startedMs = performance.now();
  const { code, stdout, stderr } = await iota(["--help"]);
  console.log(`iota --help took ${Math.round(performance.now() - startedMs)} ms`);
  assertEquals([code, stderr], [0, ""]);
  for (const name of ["swarm", "miner", "validate", "orchestrate", "generate", "wallet"]) {
    assertMatch(stdout, new RegExp(`^  ${name} {2}`, "m"));
  }
  assert(!stdout.includes("\x1b"));
});

Deno.test("iota: settings for other programs of npm, Node and Deno stop neither it nor the roles that it starts", async () => {
  await withScratchFolder(async (home) => {
    await Deno.writeTextFile(`${home}/.npmrc`, "registry=${NOT_SET}\n@other:registry=${NOT_SET}\n");
    const others = {
      NODE_OPTIONS: "--no-such-option",
      DENO_V8_FLAGS: "--no-such-flag",
      NPM_CONFIG_REGISTRY: "nowhere",
    };
    const words = ["config", "init", "--size", "toy", "~/run.toml"]; // in the user's own home all the same
    const { code, stderr } = await iota(words, { HOME: home, ...others }, { program: `${root}iota` });
    assertEquals([code, stderr], [0, ""]);
    assert(await Deno.stat(`${home}/run.toml`).then(({ isFile }) => isFile));
    const self = selfCommand();
    const child = new Deno.Command(self.command, { args: [...self.args, "version"], env: { HOME: home, ...self.env } });
    assertEquals((await child.output()).code, 0);
  });
});

/** As `deno info --json` prints it. */
interface GraphModule {
  readonly specifier: string;
  readonly dependencies?: readonly { readonly code?: { readonly specifier: string }; readonly isDynamic?: boolean }[];
}

/** Everything that help loads: main.ts, every command's file, and what these import at once. */
async function modulesOfHelp(): Promise<Set<string>> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", "cli/main.ts"], cwd: root }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(info.stdout)) as { modules: GraphModule[] };
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const isStart = ({ specifier }: GraphModule) => /\/cli\/(main|commands\/\w+)\.ts$/.test(specifier);
  const loaded = new Set(modules.filter(isStart).map(({ specifier }) => specifier));
  for (const specifier of loaded) { // grows while it is walked
    for (const { code, isDynamic } of bySpecifier.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && isDynamic !== true) loaded.add(code.specifier);
    }
  }
  assert(bySpecifier.size > loaded.size + 300, "the rest is there, behind import()");
  return loaded;
}

Deno.test("iota: help and every command start light, and load heavy modules only when they run", async () => {
  const loaded = await modulesOfHelp();
  const own = [...loaded].filter((specifier) => specifier.startsWith("file:")).map((specifier) =>
    specifier.split(root)[1]!
  );
  assert(own.filter((path) => path.startsWith("cli/commands/")).length > 30, own.join("\n"));
  assertEquals([...loaded].filter((specifier) => specifier.startsWith("npm:")).sort(), ["npm:picocolors@1.1.1"]);
  const heavy = [
    "gpu/",
    ...["net/auth/", "net/blobs/", "net/links/", "net/messages/"],
    "cli/roles/",
    "cli/orchestrator/",
    "cli/node/",
    "cli/swarm/",
    "tests/",
    "cli/tools/doctor/",
    "cli/tools/plan/",
    "cli/terminal/completions/",
    "chain/local/",
    "core/orchestrator/",
  ];
  const words = "cli/swarm/chaos/grammars.ts"; // of two options' help, without their parsers
  assertEquals(own.filter((path) => path !== words && heavy.some((folder) => path.startsWith(folder))), []);
  const shared = own.filter((path) => !path.startsWith("cli/commands/")); // a command is one file, and there may be more
  assert(shared.length <= 60, `${shared.length} files besides the commands: ${shared.join("\n")}`);
});

Deno.test("iota: exit codes are 0 for an answer, 2 for a wrong command line, 1 for anything else", async () => {
  await withScratchFolder(async (folder) => {
    const check = async (words: string[], expected: number) => {
      const { code, stdout, stderr } = await iota(words, { HOME: folder });
      assertEquals(code, expected, `${words.join(" ")}\n${stdout}${stderr}`);
      return stderr;
    };
    await check(["--version"], 0);
    await check(["help", "swarm"], 0);
    assertStringIncludes(await check(["swram"], 2), "Did you mean swarm?");
    assertStringIncludes(await check(["swarm", "--stags", "3"], 2), "Did you mean --stages?");
    assertStringIncludes(await check(["help", "walet"], 2), "Did you mean wallet?");
    assertStringIncludes(await check(["register"], 2), "Did you mean chain register?");
    assertStringIncludes(await check(["bench", "hbu"], 2), "Did you mean hub?");
    assertStringIncludes(await check(["completions", "bsh"], 2), "Did you mean bash?");
    assertStringIncludes(await check(["doctor", "--skip", "memry"], 2), "Did you mean memory?");
    assertStringIncludes(await check(["config", "check", "none.toml"], 1), "it does not exist");
    assertStringIncludes(await check(["wallet"], 2), "needs an action: new, list, show");
    assertStringIncludes(await check(["wallet", "show", "--name", "x"], 1), "next  Make one: iota wallet new --name x");
  });
});

Deno.test("iota: a new wallet shows its words once to a person, never to a program, and loads again", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/wallets/miner/hotkeys/default`;
    const made = await iota(["wallet", "new", "--name", "miner", "--data", folder]);
    assertEquals(made.code, 0, made.stderr);
    const { secretPhrase, secretSeed, privateKey, ss58Address } = JSON.parse(await Deno.readTextFile(path));
    assertStringIncludes(made.stdout, secretPhrase);
    const shown = await iota(["wallet", "show", "--name", "miner", "--data", folder, "--json"]);
    const other = await iota([
      "wallet",
      "new",
      "--name",
      "miner",
      "--hotkey",
      "two",
      "--data",
      folder,
      "--json",
      "--verbose",
    ]);
    const again = await iota(["wallet", "new", "--name", "miner", "--data", folder, "--verbose"]);
    const otherPhrase = JSON.parse(await Deno.readTextFile(`${folder}/wallets/miner/hotkeys/two`)).secretPhrase;
    const printed = [shown, other, again].map(({ stdout, stderr }) => stdout + stderr).join();
    for (const secret of [secretPhrase, secretSeed.slice(2), privateKey.slice(2), otherPhrase]) {
      assert(!printed.includes(secret), "no secret is printed");
    }
    assertEquals([shown.code, other.code, again.code], [0, 0, 1]);
    assertStringIncludes(again.stderr, "keys are never overwritten");
    const summary = JSON.parse(shown.stdout);
    assertEquals([summary.type, summary.address, summary.path], ["summary", ss58Address, path]);
    const pair = await loadHotkey({ folder: `${folder}/wallets`, wallet: "miner", hotkey: "default" });
    const message = new TextEncoder().encode("hello");
    assert(verifySignature({ address: summary.address, message, signature: pair.sign(message) }));
  });
});

Deno.test("iota: with --json every line of stdout is JSON, whatever happens", async () => {
  await withScratchFolder(async (folder) => {
    const lines = [
      ["--json"],
      ["help", "swarm", "--json"],
      ["--version", "--json"],
      ["swram", "--json"],
      ["swarm", "--steps", "x", "--json"],
      ["wallet", "new", "--data", folder, "--json"],
      ["wallet", "show", "--name", "none", "--data", folder, "--json"],
    ];
    for (const words of lines) {
      const { code, stdout } = await iota(words, { HOME: folder });
      const records = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as { type: string });
      assertEquals(records.at(-1)?.type, code === 0 ? "summary" : "error", words.join(" "));
    }
  });
});

Deno.test("iota: a home that cannot be written is a sentence, and no half-written key stays", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const { code, stderr } = await iota(["wallet", "new", "--wallet-path", `${folder}/file`]);
    assertEquals(code, 1);
    assertMatch(stderr, /^error Cannot /);
    assert(!/\n\s+at /.test(stderr), stderr);
  });
});

Deno.test("iota: a reader that leaves early is not an error", async () => {
  for (const words of ["help swarm", "--help", "completions bash", "config show --json"]) {
    const command = `"${Deno.execPath()}" run -A --quiet --config "${root}deno.json" "${root}cli/main.ts" ${words}`;
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", `${command} | true; echo "\${PIPESTATUS[0]}"`],
      stdout: "piped",
      stderr: "piped",
    }).output();
    assertEquals(new TextDecoder().decode(stderr), "", words);
    assertEquals(new TextDecoder().decode(stdout), "0\n", words);
  }
});

const script = "/usr/bin/script";
const hasScript = Deno.build.os === "linux" && await Deno.stat(script).then(() => true, () => false);
const noTerminal = hasScript ? null : "the program `script`, which lends a terminal, is not here";
testWhere(
  noTerminal,
  "iota: on a terminal there are colours, unless NO_COLOR or --no-color says otherwise",
  async () => {
    const onTerminal = async (words: string, env: Record<string, string>) => {
      const command = `"${Deno.execPath()}" run -A --quiet --config "${root}deno.json" "${root}cli/main.ts" ${words}`;
      const { stdout } = await new Deno.Command(script, {
        args: ["-qec", command, "/dev/null"],
        env: { TERM: "xterm", ...env },
        stdin: "null",
        stdout: "piped",
      }).output();
      return new TextDecoder().decode(stdout).includes("\x1b[1m");
    };
    assertEquals(await onTerminal("help", { NO_COLOR: "" }), true);
    assertEquals(await onTerminal("help", { NO_COLOR: "1" }), false);
    assertEquals(await onTerminal("help --no-color", { NO_COLOR: "" }), false);
  },
);
