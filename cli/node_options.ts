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

export const tlsAuthorityOption: OptionSpec = {
  name: "tls-ca",
  kind: "string",
  placeholder: "FILE",
  doc: "trust this certificate in PEM: for an orchestrator at wss:// whose certificate signs itself",
};

export const nodeOptions: readonly OptionSpec[] = [
  {
    name: "orchestrator",
    kind: "string",
    placeholder: "URL",
    default: "ws://127.0.0.1:9009",
    doc: "the address of the run",
  },
  {
    name: "hub",
    kind: "string",
    placeholder: "ADDRESS",
    doc: "the orchestrator's hotkey, no other is accepted [the one met at that address before]",
  },
  {
    name: "run",
    kind: "string",
    placeholder: "RUN",
    doc: "the run's name, no other is accepted [the one met at that address before]",
  },
  tlsAuthorityOption,
  ...walletOptions,
  deviceOption,
];
