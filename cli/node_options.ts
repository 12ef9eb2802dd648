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
  doc: "compute on any WebGPU adapter, or with the slow float64 reference on the CPU",
};

export const tlsAuthorityOption: OptionSpec = {
  name: "tls-ca",
  kind: "string",
  placeholder: "FILE",
  doc: "trust this certificate (PEM): for an orchestrator at wss:// with a self-signed one",
};

export const nodeOptions: readonly OptionSpec[] = [
  {
    name: "orchestrator",
    kind: "string",
    placeholder: "URL",
    default: "ws://127.0.0.1:9009",
    doc: "the address of the orchestrator",
  },
  {
    name: "hub",
    kind: "string",
    placeholder: "ADDRESS",
    defaultText: "the one met there before",
    doc: "accept no orchestrator but the one with this hotkey",
  },
  {
    name: "run",
    kind: "string",
    placeholder: "RUN",
    defaultText: "the one met there before",
    doc: "accept no run but this one",
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
