/** The work is in cli/tools/plan. */

import type { Command } from "../terminal/command.ts";
import { deviceNames, memoryOption } from "../terminal/options/node_options.ts";
import { fromOption, runOptions } from "../terminal/options/run_options.ts";

export const command: Command = {
  name: "plan",
  summary: "show what memory each stage of a model takes, and whether it fits",
  usage: "plan [--size NAME] [--stages K] [--memory SIZE] [--device NAME] [options]",
  about:
    "Builds every stage on paper, as a miner would: parameters, gradients, the optimizer's state, and the work, which is " +
    "activations, wires and scratch. Where held activations do not fit, blocks are computed again in the backward. Takes the " +
    "options of orchestrate and swarm. Exit code 0: every stage fits; 1: one does not, and it says what would.",
  examples: [
    "iota plan --size 8b --memory 16GiB",
    "iota plan --size 1b --stages 6 --memory 8GiB --json",
    "iota plan --config run.toml --device auto",
    "iota plan --from models/llama-1b --codec none",
  ],
  options: [
    ...runOptions.filter(({ name }) => name !== "resume" && name !== "fresh"),
    fromOption,
    { ...memoryOption, defaultText: "16GiB; with --device, what the device can allocate" },
    {
      name: "device",
      kind: "choice",
      placeholder: "NAME",
      choices: deviceNames,
      defaultText: "a GPU whose buffers reach 2 GiB",
      doc: "plan for this machine's device, with its limits",
    },
  ],
  configures: "run",
  rights: { read: "any", env: "any", sys: ["systemMemoryInfo"] },
  async run(context) {
    return await (await import("../tools/plan/run_plan.ts")).runPlan(context);
  },
};
