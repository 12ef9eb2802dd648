/** `~` at the beginning of a path: every way to give one agrees, although no shell has replaced it. */

import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/terminal/command.ts";
import { command as orchestrate } from "../../../cli/commands/orchestrate.ts";
import { expandHome } from "../../../cli/program/paths.ts";
import { main } from "../../../cli/command_line.ts";
import { givenRun } from "../../../cli/terminal/options/run_options.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const ownHome = { system: "linux", get: (name: string) => name === "HOME" ? "/ada" : undefined } as const;

Deno.test("Home: only ~ alone and ~/ are the user's home folder", () => {
  const paths = ["~", "~/runs/own", "~bob/runs", "./~/runs", "runs/~", "/~"];
  assertEquals(paths.map((path) => expandHome(path, ownHome)), [
    ...["/ada", "/ada/runs/own"],
    ...["~bob/runs", "./~/runs", "runs/~", "/~"],
  ]);
});

/** What `orchestrate` was given, by the options and the file together. */
async function given(home: string, ...words: string[]): Promise<Record<string, string | undefined>> {
  const seen: Record<string, string | undefined> = {};
  const idle: Command = {
    ...orchestrate,
    async run(context) {
      for (const name of ["wallet-path", "log-file", "data"]) seen[name] = context.options.text(name);
      const { input } = await givenRun(context);
      seen["corpus"] = String(
        input.overrides?.["data.corpus"] ?? (input.file as { data?: { corpus?: string } }).data?.corpus,
      );
      return 0;
    },
  };
  const host = new FakeHost({ env: { HOME: home } });
  const code = await main(["orchestrate", ...words], host, withCommands({ orchestrate: () => Promise.resolve(idle) }));
  assertEquals(code, 0, host.written.stderr);
  return seen;
}

Deno.test("Home: the [hub] table, the text's name and the command line mean the same folder", async () => {
  await withScratchFolder(async (home) => {
    const file = `${home}/run.toml`;
    await Deno.writeTextFile(`${home}/text.txt`, "some text");
    await Deno.writeTextFile(
      file,
      '[data]\ncorpus = "~/text.txt"\n[hub]\nwalletPath = "~/wallets"\nlogFile = "~/hub.log"\n',
    );
    const expected = {
      "wallet-path": `${home}/wallets`,
      "log-file": `${home}/hub.log`,
      data: `${home}/own`,
      corpus: `${home}/text.txt`,
    };
    assertEquals(await given(home, "--config", file, "--data", "~/own"), expected);
    const typed = ["--wallet-path", "~/wallets", "--log-file=~/hub.log", "--data", "~/own"];
    assertEquals(await given(home, ...typed, "--corpus", "~/text.txt"), expected);
    assertEquals(await given(home, ...typed, "--set", "data.corpus=~/text.txt"), expected);
  });
});

Deno.test("Home: config check looks for files where the commands will, and its own FILE may begin with ~", async () => {
  await withScratchFolder(async (home) => {
    await Deno.writeTextFile(`${home}/run.toml`, '[data]\ncorpus = "~/text.txt"\n[hub]\nlogFile = "~/none/hub.log"\n');
    const check = async (path: string) => {
      const host = new FakeHost({ env: { HOME: home } });
      return { code: await main(["config", "check", path], host), ...host.written };
    };
    const wrong = await check(`${home}/run.toml`);
    assertStringIncludes(
      wrong.stdout,
      `run.toml:2: Cannot read the text '${home}/text.txt': it does not exist`,
    );
    assertStringIncludes(wrong.stdout, "run.toml:4: Cannot open the log '");
    const documents = Array.from({ length: 60 }, (_, i) => `Document ${i} is about ${i * i}. `.repeat(40));
    await Deno.writeTextFile(`${home}/text.txt`, documents.join("\n\n"));
    await Deno.mkdir(`${home}/none`);
    const settings = await Deno.readTextFile(`${home}/run.toml`);
    await Deno.writeTextFile(`${home}/run.toml`, `size = "toy"\n${settings}`); // whose vocabulary this text fills
    const right = await check("~/run.toml");
    assertEquals(right.code, 0, right.stdout + right.stderr);
  });
});
