/** Completion scripts, run by the shells they are for: what Tab offers after a few words. Shells that are not here are skipped by name. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { commandTable } from "../../../cli/command_table.ts";
import { bashCompletion } from "../../../cli/terminal/completions/bash_completion.ts";
import { everyCommand, loadTree, ownName } from "../../../cli/terminal/completions/command_tree.ts";
import { fishCompletion } from "../../../cli/terminal/completions/fish_completion.ts";
import { zshCompletion } from "../../../cli/terminal/completions/zsh_completion.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testWhere } from "../../support/test_where.ts";

const codecs = ["iota", "none", "q4block", "q5block", "q6block", "resbm"];
const tree = await loadTree(commandTable);

async function run(program: string, args: readonly string[], cwd?: string): Promise<{ code: number; printed: string }> {
  const command = new Deno.Command(program, { args: [...args], ...(cwd === undefined ? {} : { cwd }), stdin: "null" });
  const { code, stdout, stderr } = await command.output();
  return { code, printed: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

async function shellIsHere(shell: string): Promise<boolean> {
  try {
    return (await run(shell, ["-c", "exit 0"])).code === 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function shellTest(shell: string, name: string, body: () => Promise<void>): Promise<void> {
  testWhere(await shellIsHere(shell) ? null : `no ${shell} here`, name, body);
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** What bash would offer for the last word. Words as bash splits them, at `=` too. */
async function offeredByBash(words: readonly string[], cwd?: string): Promise<string[]> {
  const script = `set -u; ${bashCompletion(tree)}
COMP_WORDS=(${words.map(quoted).join(" ")}); COMP_CWORD=${words.length - 1}; _iota
[ \${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, printed } = await run("bash", ["--norc", "-c", script], cwd);
  assertEquals(code, 0, printed);
  return printed.split("\n").filter((line) => line !== "");
}

await shellTest("bash", "Completions: bash offers commands, actions, options and choices", async () => {
  const check = async (line: string, expected: readonly string[]) =>
    assertEquals((await offeredByBash(line.split(" "))).sort(), [...expected].sort(), line);
  await check("iota sw", ["swarm"]);
  await check("iota chain st", ["status", "stake"]);
  await check("iota --json chain met", ["metagraph"]);
  await check("iota chain --endpoint local met", ["metagraph"]);
  await check("iota chain --endpoint lo", ["local"]);
  await check("iota --data swarm wallet re", ["regen"]);
  await check("iota swarm --cod", ["--codec"]);
  await check("iota swarm --codec ", codecs);
  await check("iota swarm --codec = no", ["none"]);
  await check("iota swarm --codec =", codecs);
  await check("iota swarm --codec = iota --size t", ["toy", "tiny"]);
  await check("iota swarm --steps ", []);
  await check("iota swarm --steps 3 --no-c", ["--no-color"]);
  await check("iota help chain st", ["status", "stake"]);
  await check("iota completions ", ["bash", "fish", "zsh"]);
  await check("iota config check --for m", ["miner"]);
  await check("iota unknown ", (await offeredByBash(["iota", ""])).sort());
});

await shellTest(
  "bash",
  "Completions: bash offers files and folders where they are meant, spaces included",
  async () => {
    await withScratchFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/my run.toml`, "");
      await Deno.mkdir(`${folder}/runs`);
      assertEquals(await offeredByBash(["iota", "swarm", "--config", "my"], folder), ["my run.toml"]);
      assertEquals(await offeredByBash(["iota", "config", "check", "my"], folder), ["my run.toml"]);
      assertEquals(await offeredByBash(["iota", "swarm", "--data", ""], folder), ["runs"]);
    });
  },
);

await shellTest("bash", "Completions: bash knows every command and every option of the table", async () => {
  const script = `${bashCompletion(tree)}
for path in ${everyCommand(tree).map(({ name }) => quoted(name)).join(" ")}; do
  _iota_words "$path"; printf '%s|%s %s\\n' "$path" "$flags" "$valued"; done`;
  const { code, printed } = await run("bash", ["--norc", "-c", script]);
  assertEquals(code, 0, printed);
  const offered = new Map(printed.trim().split("\n").map((line) => line.split("|") as [string, string]));
  for (const { name, options } of everyCommand(tree)) {
    const words = offered.get(name)!.split(" ");
    for (const option of options) assert(words.includes(`--${option.name}`), `${name} --${option.name}`);
    assert(words.includes("--json") && words.includes("--config"), name);
  }
});

await shellTest("zsh", "Completions: zsh reads its script, and finds a function for every command", async () => {
  const names = everyCommand(tree).map(({ name }) => `_iota_${name.replaceAll(/[ -]/g, "_")}`);
  const script = `autoload -Uz compinit; compinit -D; ${zshCompletion(tree)}\nwhence -w ${names.join(" ")}`;
  const { code, printed } = await run("zsh", ["-f", "-c", script]);
  assertEquals(code, 0, printed);
  for (const name of names) assertStringIncludes(printed, `${name}: function`);
});

await shellTest("fish", "Completions: fish offers commands, actions, options and choices", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/iota.fish`;
    await Deno.writeTextFile(path, fishCompletion(tree));
    const check = async (line: string, expected: readonly string[]) => {
      const { code, printed } = await run("fish", ["--no-config", "-c", `source ${path}; complete -C ${quoted(line)}`]);
      assertEquals(code, 0, printed);
      const offered = printed.split("\n").map((row) => row.split("\t")[0]!).filter((word) => word !== "");
      assertEquals(offered.sort(), [...expected].sort(), line);
    };
    await check("iota sw", ["swarm"]);
    await check("iota chain st", ["status", "stake"]);
    await check("iota chain --endpoint local met", ["metagraph"]);
    await check("iota swarm --codec ", codecs);
    await check("iota swarm --cod", ["--codec"]);
  });
});

Deno.test("Completions: an option takes a value everywhere or nowhere, as fish tells them apart by name", () => {
  const kinds = new Map<string, boolean>();
  for (const { name, options } of everyCommand(tree)) {
    for (const option of options) {
      const takesValue = option.kind !== "boolean";
      assertEquals(kinds.get(option.name) ?? takesValue, takesValue, `${name} --${option.name}`);
      kinds.set(option.name, takesValue);
    }
  }
});

const fishQuoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`;

/** Without the shells: the scripts' own structure. */
Deno.test("Completions: zsh and fish scripts name every command and option, each text in closed quotes", () => {
  const scripts = { zsh: zshCompletion(tree), fish: fishCompletion(tree) };
  for (const [shell, script] of Object.entries(scripts)) {
    for (const command of everyCommand(tree)) {
      const called = shell === "zsh"
        ? `_iota_${command.name.replaceAll(" ", "_")}() {`
        : ` -a ${ownName(command)} -d ${fishQuoted(command.summary)}`;
      assertStringIncludes(script, called);
      for (const { name } of command.options) {
        assertStringIncludes(script, shell === "zsh" ? `'--${name}` : ` -l ${name} `);
      }
    }
    for (const line of script.split("\n").filter((line) => !line.startsWith("#"))) {
      const bare = shell === "zsh" ? line.replaceAll("'\\''", "") : line.replaceAll("\\'", "");
      assertEquals(bare.split("'").length % 2, 1, `${shell}: ${line}`);
    }
  }
});
