/** The work is in cli/model/prepare. */

import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "data show",
  summary: "show what a dataset holds, with a few samples",
  usage: "data show NAME [options]",
  about: "NAME is a folder, or a dataset in your data folder. Every file is checked against its hash.",
  examples: [
    "iota data show data/texts",
    "iota data show runs/demo/dataset --samples 10",
    "iota data show texts --json",
  ],
  options: [
    {
      name: "samples",
      kind: "int",
      placeholder: "N",
      min: 0,
      max: 1000,
      default: 3,
      doc: "beginnings of documents to show",
    },
  ],
  positionals: { max: 1, placeholder: "NAME" },
  rights: { read: "any" },
  async run(context) {
    return await (await import("../model/prepare/run_show.ts")).runShow(context);
  },
};
