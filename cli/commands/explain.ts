/** The work is in cli/observe/ledger. */

import type { Command } from "../terminal/command.ts";
import { newestWithoutRun, ownRunOption } from "../terminal/options/own_run.ts";

export const command: Command = {
  name: "explain",
  summary: "say what a node was checked for, what it earned and why",
  usage: "explain HOTKEY [--run DIR] [options]",
  about:
    "Reads the run's signed log, checks it as iota verify does, and tells one node's part in it: what it earned, what is in escrow and why, then what was checked. HOTKEY is an address, its " +
    "beginning, or the name of a node of a local swarm, such as miner-0.",
  examples: ["iota explain miner-0 --run runs/demo", "iota explain 5DkWHGRr --run runs/demo --by-round"],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption, doc: "the run's folder, or its log" },
    { name: "by-round", kind: "boolean", doc: "with a line for each round" },
  ],
  positionals: { max: 1, placeholder: "HOTKEY" },
  rights: { read: "any" },
  takesOwnRun: ({ options, positionals: [node] }) => node === undefined ? null : newestWithoutRun({ options }),
  async run(context) {
    return await (await import("../observe/ledger/run_explain.ts")).runExplain(context);
  },
};
