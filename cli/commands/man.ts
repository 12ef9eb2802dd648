/** `iota man`: the manual page as roff, generated from the command table. The work is in cli/manual. */

import type { Command } from "../command.ts";

export const command: Command = {
  name: "man",
  summary: "print the manual page",
  usage: "man",
  about: "The page iota(1) in roff, for man -l or a folder of manual pages.",
  examples: ["iota man | man -l -", "iota man > ~/.local/share/man/man1/iota.1"],
  options: [],
  async run({ output, commands }) {
    const [{ loadTree }, { manPage }] = await Promise.all([
      import("../manual/command_tree.ts"),
      import("../manual/man_page.ts"),
    ]);
    const page = manPage(await loadTree(commands));
    output.answer({ page }, page.trimEnd());
    return 0;
  },
};
