/**
 * Attempts to break out: a process that starts with the program's usual rights gives up what a command does not declare, then
 * tries what an attacker in control would try. The lists are exact, so a right that slips in fails a test.
 */

import { assertEquals } from "@std/assert";
import { commandTable } from "../../cli/command_table.ts";
import { commonOptions } from "../../cli/terminal/command.ts";
import { parseOptions } from "../../cli/terminal/options/args.ts";
import { ownProgram } from "../../cli/program/self.ts";
import { resolveRights } from "../../cli/terminal/resolve_rights.ts";
import type { HeldRights } from "../../cli/rights/rights.ts";
import type { Plan } from "../support/process/break_out.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const root = new URL("../..", import.meta.url).pathname;
const kinds = ["read", "write", "net", "env", "sys", "run"].map((kind) => `--allow-${kind}`);

/** The rights that a command line leaves its command. */
async function heldBy(name: string, words: readonly string[], home: string): Promise<HeldRights> {
  const [group, action] = name.split(" ");
  const found = await commandTable[group!]!();
  const command = action === undefined ? found : await found.actions![action]!();
  const specs = [...command.options, ...commonOptions];
  const { options } = parseOptions({ words, options: specs, maxPositionals: 9, helpCommand: "" });
  const declares = (option: string) => specs.some((spec) => spec.name === option);
  const environment = { system: "linux" as const, get: (key: string) => key === "HOME" ? home : Deno.env.get(key) };
  const dataFolder = () => options.text("data") ?? `${home}/.local/share/iota`;
  return resolveRights({
    rights: command.rights,
    options,
    declares,
    environment,
    dataFolder,
    corpora: [],
    runs: [],
    ...ownProgram(environment),
  });
}

interface World {
  readonly inside: string;
  readonly outside: string;
  readonly home: string;
}

/** What worked, by thread. */
async function tryToBreakOut(held: HeldRights, { inside, outside }: World): Promise<Record<string, string[]>> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--no-check", "--config", `${root}deno.json`, "--deny-ffi", ...kinds],
      `${root}tests/support/process/break_out.ts`,
      JSON.stringify({ held, inside, outside } satisfies Plan),
    ],
    env: { IOTA_TEST_SECRET: "swordfish" },
  }).output();
  const text = new TextDecoder();
  assertEquals(code, 0, text.decode(stderr));
  const lines = text.decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
  return Object.fromEntries(lines.map(({ thread, done }) => [thread, done]));
}

async function withWorld(body: (world: World) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const world = { inside: `${folder}/inside`, outside: `${folder}/outside`, home: `${folder}/home` };
    for (const path of Object.values(world)) await Deno.mkdir(path);
    await Deno.writeTextFile(`${world.outside}/secret`, "swordfish");
    await Deno.writeTextFile(`${world.inside}/own`, "");
    await body(world);
  });
}

const inData = ["readInside", "writeInside"];

const roles: readonly { name: string; words: readonly string[]; works: string[] }[] = [
  { name: "miner", words: [], works: ["listen", ...inData] }, // it dials peers: Deno cannot tell that from listening
  { name: "validate", words: [], works: ["listen", ...inData] },
  { name: "orchestrate", words: [], works: ["listen", ...inData] },
  { name: "swarm", words: [], works: ["runSelf", "listen", ...inData] },
];

for (const { name, words, works } of roles) {
  Deno.test(`Rights: what takes over ${name} reaches its data folder, and no program, library, secret or file outside`, async () => {
    await withWorld(async (world) => {
      const held = await heldBy(name, ["--data", world.inside, ...words], world.home);
      assertEquals(await tryToBreakOut(held, world), { confined: works, first: [] });
    });
  });
}

for (const name of ["generate", "chat"]) {
  Deno.test(`Rights: ${name} reads its run and can do nothing else`, async () => {
    await withWorld(async (world) => {
      const held = await heldBy(name, ["--run", world.inside], world.home);
      assertEquals(await tryToBreakOut(held, world), { confined: ["readInside"], first: [] });
    });
  });
}

Deno.test("Rights: a wallet command has no network and runs nothing, a chain command runs nothing", async () => {
  await withWorld(async (world) => {
    const files = ["readPasswords", "readOutside", "climbOutside", "readVariable", "readVariables"];
    const wallet = await tryToBreakOut(await heldBy("wallet list", [], world.home), world);
    assertEquals(wallet, { only: [...files, "readInside"] });
    const chain = await tryToBreakOut(await heldBy("chain status", [], world.home), world);
    const writing = ["readPasswords", "readOutside", "writeOutside", "linkOutside", "climbOutside"];
    assertEquals(chain, { only: [...writing, "readVariable", "readVariables", "listen", ...inData] });
  });
});

Deno.test("Rights: a command that states none can only print", async () => {
  await withWorld(async (world) => {
    assertEquals(await tryToBreakOut(await heldBy("completions", [], world.home), world), { only: [] });
  });
});

Deno.test("Rights: every command that is not a group declares its rights, or is known to need none", async () => {
  const silent: string[] = [];
  for (const load of Object.values(commandTable)) {
    const command = await load();
    const actions = await Promise.all(Object.values(command.actions ?? {}).map((action) => action()));
    const leaves = actions.length === 0 ? [command] : actions;
    silent.push(...leaves.filter(({ rights }) => rights === undefined).map(({ name }) => name));
  }
  assertEquals(silent, ["completions"]);
});

Deno.test("Rights: Deno cannot revoke part of an unrestricted right, which is why roles run in their own thread", async () => {
  const code = `Deno.permissions.revokeSync({ name: "read", path: "/etc" }); Deno.readTextFileSync("/etc/passwd");`;
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-config", code],
    stderr: "null",
  }).output();
  assertEquals(success, true, "a later Deno can: the thread is then no longer needed");
});
