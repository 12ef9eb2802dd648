/** The work is in cli/chain. */

import { chainOptions, hotkeyOptions, mechanismOption, waitFinalOption } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";

export const command: Command = {
  name: "chain commit",
  summary: "show committed weights, reveal salted ones",
  usage: "chain commit [--reveal [--wait] [--wait-final]] [--wallet NAME] [options]",
  about:
    "Weights are committed with `iota chain weights --set`. The chain reveals timelocked ones; --reveal reveals salted ones, in " +
    "the one epoch in which that is possible, with the salt from the data folder of the machine that committed them.",
  examples: [
    "iota chain commit --wallet owner",
    "iota chain commit --wallet owner --reveal",
    "iota chain commit --wallet owner --reveal --wait --json",
  ],
  options: [
    ...chainOptions,
    ...hotkeyOptions,
    { name: "reveal", kind: "boolean", doc: "reveal the newest salted commit whose epoch has come" },
    { name: "wait", kind: "boolean", doc: "with --reveal: wait for that epoch" },
    waitFinalOption,
    mechanismOption,
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    const { options } = context;
    if (options.flag("reveal")) return await (await import("../chain/reveal_commit.ts")).revealCommit(context);
    const idle = ["wait", "wait-final"].find((name) => options.flag(name));
    if (idle !== undefined) {
      throw new UsageError(`--${idle} works only with --reveal`, { next: "See iota help chain commit" });
    }
    return await (await import("../chain/show_weights.ts")).showCommits(context);
  },
};
