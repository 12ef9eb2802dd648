/**
 * The options of a node that dials in, shared by `miner` and `validate`.
 */

import type { OptionSpec } from "./command.ts";
import { walletOptions } from "./wallet_options.ts";

export const deviceOption: OptionSpec = {
  name: "device",
  kind: "choice",
  placeholder: "NAME",
  choices: ["auto", "webgpu", "reference"],
  default: "auto",
  doc: "what computes: any WebGPU adapter, or the slow float64 reference",
};

/** What a node does without `--orchestrator`, for its help. */
export const findingText =
  "Without --orchestrator it looks for a run where --chain says; without that, on a chain of this machine (port 9944), then for an " +
  "orchestrator of this machine (port 9009), then on subnet 9 of finney, and waits until there is one. It believes what the " +
  "subnet's owner announces, and after it validators with a permit: see iota runs. ";

export const nodeOptions: readonly OptionSpec[] = [
  {
    name: "orchestrator",
    kind: "string",
    placeholder: "URL",
    defaultText: "found through the chain",
    doc: "the run's address, or its invite in quotes: 'iota://host:port/run#key'",
  },
  {
    name: "hub",
    kind: "string",
    placeholder: "ADDRESS",
    doc: "the orchestrator's hotkey, no other is accepted [the announced one, or the one met at that address before]",
  },
  {
    name: "run",
    kind: "string",
    placeholder: "RUN",
    doc: "the run's name, no other is accepted, and of several announced ones the one to join [as for --hub]",
  },
  ...walletOptions,
  deviceOption,
];
