/** Which options of an orchestrator its run keeps, and what counts over them. */

import { assertEquals } from "@std/assert";
import { parseOptions } from "../../../cli/terminal/options/args.ts";
import { commonOptions } from "../../../cli/terminal/command.ts";
import { hubOptions } from "../../../cli/terminal/options/hub_options.ts";
import { optionsToKeep, wordsOfKept } from "../../../cli/files/kept_options.ts";
import { readSavedRun, writeSavedRun } from "../../../cli/files/saved_run.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const parse = (...words: string[]) =>
  parseOptions({ words, options: [...hubOptions, ...commonOptions], maxPositionals: 0, helpCommand: "" }).options;

Deno.test("Kept options: given options are kept with absolute paths, except the place and --loopback", () => {
  const given = parse(
    ...["--host", "0.0.0.0", "--port", "1", "--loopback", "--tls-cert", "/a/c.pem", "--tls-key", "/a/k.pem"],
    ...["--log-keep", "2", "--wallet", "hub"],
  );
  const wallet = { folder: "/keys", wallet: "hub", hotkey: "only" };
  assertEquals(optionsToKeep(given, wallet), {
    ...{ "tls-cert": "/a/c.pem", "tls-key": "/a/k.pem", "log-keep": 2 },
    ...{ wallet: "hub", hotkey: "only", "wallet-path": "/keys" },
  });
  assertEquals(optionsToKeep(parse(), null), {});
  assertEquals(optionsToKeep(parse("--log-file", "x.log"), null), { "log-file": `${Deno.cwd()}/x.log` });
});

Deno.test("Kept options: options given now win, and a wallet brings its own hotkey", () => {
  const kept = { wallet: "hub", hotkey: "only", "wallet-path": "/keys", "log-keep": 2, "tls-cert": "-c.pem", port: 5 };
  assertEquals(wordsOfKept(kept, parse()), [
    ...["--tls-cert=-c.pem", "--log-keep=2", "--wallet=hub", "--hotkey=only", "--wallet-path=/keys"],
  ]);
  assertEquals(wordsOfKept(kept, parse("--wallet", "other", "--log-keep", "3")), ["--tls-cert=-c.pem"]);
});

Deno.test("Kept options: run.json holds them and the key; a file of an older program has neither, and is read", async () => {
  const config = resolveConfig({ size: "toy" });
  if (!config.ok) throw new Error("the toy is right");
  await withScratchFolder(async (folder) => {
    const run = {
      runId: "r",
      config: config.config,
      host: "::1",
      port: 7,
      hub: "5Hub",
      tokenizerHash: "a1",
      from: null,
      options: { wallet: "hub" },
    };
    await writeSavedRun(folder, run);
    assertEquals(await readSavedRun(folder), run);
    const { hub: _, options: __, tokenizerHash: ___, ...old } = JSON.parse(
      await Deno.readTextFile(`${folder}/run.json`),
    );
    await Deno.writeTextFile(`${folder}/run.json`, JSON.stringify(old));
    assertEquals(await readSavedRun(folder), { ...run, hub: null, tokenizerHash: null, options: {} });
    await Deno.writeTextFile(
      `${folder}/run.json`,
      JSON.stringify({ ...old, hub: 5, options: { wallet: {}, hotkey: 1 } }),
    );
    assertEquals(await readSavedRun(folder), { ...run, hub: null, tokenizerHash: null, options: { hotkey: 1 } });
  });
});
