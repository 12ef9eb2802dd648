/** The manual page: roff that formatters take without a word, with everything the table says. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/command.ts";
import { commandTable } from "../../../cli/command_table.ts";
import { everyCommand, loadTree } from "../../../cli/manual/command_tree.ts";
import { manPage } from "../../../cli/manual/man_page.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testWhere } from "../../support/test_where.ts";

const tree = await loadTree(commandTable);

const formatters: Readonly<Record<string, readonly string[]>> = {
  groff: ["-man", "-ww", "-Tutf8", "-P-c", "-rLL=200n"],
  mandoc: ["-W", "error", "-Tutf8"],
};

async function format(name: string, page: string): Promise<{ text: string; complaints: string } | null> {
  let result: { text: string; complaints: string } | null = null;
  await withScratchFolder(async (folder) => {
    const path = `${folder}/iota.1`;
    await Deno.writeTextFile(path, page);
    try {
      const { stdout, stderr } = await new Deno.Command(name, { args: [...formatters[name]!, path], stdin: "null" })
        .output();
      const decoder = new TextDecoder();
      // deno-lint-ignore no-control-regex -- bold and underlined letters are struck over with backspaces
      result = { text: decoder.decode(stdout).replaceAll(/.\x08/gu, ""), complaints: decoder.decode(stderr) };
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  });
  return result;
}

for (const name of Object.keys(formatters)) {
  const missing = await format(name, ".TH X 1\n") === null ? `no ${name} here` : null;
  testWhere(missing, `Manual page: ${name} formats it without complaints`, async () => {
    const formatted = await format(name, manPage(tree));
    assertEquals(formatted?.complaints, "");
    const text = formatted!.text.replaceAll(/\s+/g, " ");
    for (const command of everyCommand(tree)) {
      assertStringIncludes(text, `iota ${command.usage.replaceAll(/\s+/g, " ")}`);
      for (const example of command.examples) assertStringIncludes(text, example.replaceAll(/\s+/g, " "));
    }
  });
}

Deno.test("Manual page: every command and option has its entry, and the sections come in their usual order", () => {
  const page = manPage(tree);
  const sections = [...page.matchAll(/^\.SH (.*)$/gm)].map(([, title]) => title);
  assertEquals(sections, [
    ...["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS FOR EVERY COMMAND"],
    ...["EXIT STATUS", "ENVIRONMENT", "FILES"],
  ]);
  for (const { name, options } of everyCommand(tree)) {
    const start = page.indexOf(`.SS "iota ${name}"`);
    assert(start > 0, name);
    const section = page.slice(start, page.indexOf("\n.S", start + 1));
    for (const option of options) assertStringIncludes(section, `\\-\\-${option.name.replaceAll("-", "\\-")}`);
  }
  for (const line of page.split("\n")) assertMatch(line, /^[\x20-\x7e]*$/);
});

Deno.test("Manual page: no text of the table becomes a request or an escape", () => {
  const command: Command = {
    name: "walk",
    summary: "walk about",
    usage: "walk",
    about: ".TH is what it begins with.",
    examples: ["'quoted' \\fBbold\\fR …"],
    options: [{ name: "to", kind: "string", placeholder: "A\\B", doc: ".nf at the start" }],
    run: () => Promise.resolve(0),
  };
  const page = manPage([{ command, actions: [] }]);
  assertEquals(page.match(/^\.TH/gm)?.length, 1);
  assertStringIncludes(page, "\n\\&.TH is what");
  assertStringIncludes(page, "\n\\&'quoted' \\efBbold\\efR \\[u2026]\n");
  assertStringIncludes(page, "\n\\&.nf at the start\n");
});
