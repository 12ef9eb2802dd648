/** The actions on datasets. */

import { type Command, type CommandTable, missingAction } from "../terminal/command.ts";

const actions: CommandTable = {
  prepare: async () => (await import("./data_prepare.ts")).command,
  show: async () => (await import("./data_show.ts")).command,
};

export const command: Command = {
  name: "data",
  summary: "prepare a dataset from your own texts, or show one",
  usage: "data ACTION [options]",
  about:
    "A dataset is a folder with a tokenizer and the tokens of its texts. Small texts need none: --corpus takes a file.",
  examples: [
    "iota data prepare --input texts.jsonl --field text --out data/texts",
    "iota data show data/texts",
  ],
  options: [],
  actions,
  run() {
    throw missingAction("data", { actions, next: "Prepare one: iota data prepare --input texts.jsonl" });
  },
};
