/** The options shared by `miner` and `validate`. */

import type { OptionSpec } from "../command.ts";
import { walletOptions } from "./wallet_options.ts";

export const deviceNames = ["auto", "gpu", "cpu", "software", "webgpu"];

export const deviceOption: OptionSpec = {
  name: "device",
  kind: "choice",
  placeholder: "NAME",
  choices: deviceNames,
  default: "auto",
  doc:
    "compute on a GPU, the processor, a software driver or any WebGPU adapter; auto takes a GPU, else the faster of processor and driver",
};

export const threadsOption: OptionSpec = {
  name: "threads",
  kind: "int",
  placeholder: "N",
  min: 1,
  max: 256,
  defaultText: "as many as there are cores, at most 16",
  doc: "threads that compute a stage where the processor is the device; their number changes no result",
};

export const memoryOption: OptionSpec = {
  name: "memory",
  kind: "string",
  placeholder: "SIZE",
  defaultText: "what the device can allocate",
  doc: "what a stage may take, such as 16GiB: beyond that it computes activations again instead of holding them",
};

export const tlsAuthorityOption: OptionSpec = {
  name: "tls-ca",
  kind: "string",
  placeholder: "FILE",
  doc: "trust this certificate (PEM), for an orchestrator at wss:// with a self-signed one",
};

export const findingText =
  "Without --orchestrator it looks for a run on the chain of --chain. Without that too, it tries a chain on this machine (port 9944), then an " +
  "orchestrator on this machine (port 9009), then subnet 9 of finney, and waits until it finds one. It trusts announcements of the " +
  "subnet's owner, then of validators with a permit, and joins the first run that answers with the announced key: see iota runs. ";

export const nodeOptions: readonly OptionSpec[] = [
  {
    name: "orchestrator",
    kind: "string",
    placeholder: "URL",
    defaultText: "found on the chain",
    doc:
      "the run's address, or its invite in quotes: 'iota://host:port/run#key'; with an invite only its key is accepted",
  },
  {
    name: "hub",
    kind: "string",
    placeholder: "ADDRESS",
    defaultText: "the announced one, or the one met at that address before",
    doc: "accept only the orchestrator (hub) with this hotkey",
  },
  {
    name: "run",
    kind: "string",
    placeholder: "RUN",
    defaultText: "any run of that orchestrator",
    doc: "accept only this run; if several are announced, join this one",
  },
  {
    name: "give-up-after",
    kind: "string",
    placeholder: "DURATION",
    defaultText: "never",
    doc:
      "exit with code 1 when no orchestrator has admitted this node for this long: 90s, 5m, 2h; 0: at the first failed attempt",
  },
  tlsAuthorityOption,
  ...walletOptions,
  deviceOption,
  threadsOption,
  memoryOption,
];
