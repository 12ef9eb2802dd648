/**
 * `iota validate`: repeats sampled work and evaluates held-out text for a run. The work is in cli/run/run_node.ts.
 */

import type { Command } from "../command.ts";
import { chainOptions } from "../duty/chain_options.ts";
import { findingText, nodeOptions } from "../node_options.ts";
import { autoRestartOption, logOptions } from "../service/service_options.ts";

export const command: Command = {
  name: "validate",
  summary: "repeat sampled work and evaluate the model for a run",
  usage: "validate [--wallet NAME] [--orchestrator URL] [options]",
  about:
    "Repeats tasks of every miner from the committed wires and the round's parameters, prints a verdict with its numbers, and measures the model on held-out text after every merge. " +
    findingText.trimEnd(),
  examples: ["iota validate --wallet hot", "iota validate --orchestrator ws://10.0.0.5:9009 --wallet hot --json"],
  options: [
    ...nodeOptions,
    ...chainOptions,
    ...logOptions,
    autoRestartOption,
    {
      name: "version-key",
      kind: "int",
      placeholder: "N",
      min: 0,
      default: 0,
      doc: "of the weights, where the subnet asks for one; 0 fits subnets that do not",
    },
  ],
  rights: {
    read: ["data", "hotkeys", "log"],
    write: ["data", "log"],
    net: "any",
  },
  async run(context) {
    const { runValidator } = await import("../run/run_node.ts");
    return await runValidator(context);
  },
};
