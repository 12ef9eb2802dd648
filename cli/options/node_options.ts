/**
 * The options of a node that dials in, shared by `miner` and `validate`.
 */

import type { OptionSpec } from "../command.ts";
import { walletOptions } from "./wallet_options.ts";

export const deviceOption: OptionSpec = {
  name: "device",
  kind: "choice",
  placeholder: "NAME",
  choices: ["auto", "webgpu", "reference"],
  default: "auto",
  doc: "compute on any WebGPU adapter, or with the slow float64 reference on the CPU",
};

export const tlsAuthorityOption: OptionSpec = {
  name: "tls-ca",
  kind: "string",
  placeholder: "FILE",
  doc: "trust this certificate (PEM): for an orchestrator at wss:// with a self-signed one",
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
    defaultText: "the announced one, or the one met there before",
    doc: "accept no orchestrator but the one with this hotkey",
  },
  {
    name: "run",
    kind: "string",
    placeholder: "RUN",
    defaultText: "as for --hub",
    doc: "accept no run but this one; of several announced ones the one to join",
  },
  {
    name: "give-up-after",
    kind: "string",
    placeholder: "DURATION",
    defaultText: "never",
    doc:
      "end with exit code 1 when no orchestrator has let this node in for so long: 90s, 5m, 2h; 0: at the first failed attempt",
  },
  tlsAuthorityOption,
  ...walletOptions,
  deviceOption,
];
