/** The work is in cli/node/run_validator.ts. */

import type { Command } from "../terminal/command.ts";
import { chainOptions } from "../terminal/options/named_chain.ts";
import { findingText, nodeOptions } from "../terminal/options/node_options.ts";
import { autoRestartOption, logOptions } from "../terminal/options/service_options.ts";

export const command: Command = {
  name: "validate",
  summary: "repeat sampled work and evaluate the model for a run",
  usage: "validate [--wallet NAME] [--orchestrator URL] [options]",
  about:
    "It measures the model on held-out text and repeats some tasks of each miner. Of several validators, two at a time measure. For each it prints a verdict with the measured error; the verdicts decide the weights that pay the miners. It waits for an unreachable orchestrator. In a terminal, ? lists its screen's keys. Ctrl-C exits with 1, SIGTERM with 0. " +
    findingText.trimEnd(),
  examples: [
    "iota validate --wallet hot --hotkey validator",
    "iota validate --orchestrator ws://10.0.0.5:9009 --wallet judge --json",
  ],
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
      doc: "version key of the weights, if the subnet requires one",
    },
  ],
  rights: {
    read: ["data", "hotkeys", "log", "--tls-ca"],
    write: ["data", "log"],
    net: "any",
  },
  async run(context) {
    const { runValidator } = await import("../node/run_validator.ts");
    return await runValidator(context);
  },
};
