/** The work is in cli/tools/doctor. */

import { sizeNames } from "../../core/config/size.ts";
import type { Command } from "../terminal/command.ts";
import { chainOptions } from "../terminal/options/named_chain.ts";
import { deviceOption, tlsAuthorityOption } from "../terminal/options/node_options.ts";
import { walletOptions } from "../terminal/options/wallet_options.ts";

export const command: Command = {
  name: "doctor",
  summary: "check this machine and say what is missing",
  usage: "doctor [--orchestrator URL] [--chain NETWORK] [--wallet NAME] [options]",
  about:
    "Checks the adapter and which models fit it, its speed, memory, disk and clock; also orchestrator, chain and wallet if " +
    "they are named or found in the usual place. --config takes a run.toml or a node's settings file. Nothing is changed. " +
    "Exit code 0: ready, perhaps with warnings; 1: something must be fixed, and it says how.",
  examples: [
    "iota doctor",
    "iota doctor --orchestrator ws://10.0.0.5:9009 --wallet miner",
    "iota doctor --chain finney --netuid 9 --wallet miner --json",
    "iota doctor --config run.toml --skip adapter,size,speed,numbers",
  ],
  options: [
    {
      name: "orchestrator",
      kind: "string",
      placeholder: "URL",
      defaultText: "ws://127.0.0.1:9009, if one answers",
      doc: "the orchestrator to reach",
    },
    tlsAuthorityOption,
    { ...deviceOption, doc: "the device to check, as a miner would be told; auto checks the one that it would take" },
    ...chainOptions.map((option) => ({ ...option, defaultText: option.name === "chain" ? "that of --config" : "9" })),
    ...walletOptions.map((option) => option.name === "wallet" ? { ...option, doc: "the wallet to sign with" } : option),
    {
      name: "timeout",
      kind: "float",
      placeholder: "SECONDS",
      min: 0.1,
      max: 600,
      default: 5,
      doc: "how long each check may take; those that compile kernels or wait for others get a few more",
    },
    {
      name: "size",
      kind: "choice",
      placeholder: "NAME",
      choices: sizeNames,
      doc: "also check that the device computes rightly at the shapes of this model",
    },
    {
      name: "skip",
      kind: "string",
      placeholder: "LIST",
      doc: "checks to skip, separated by commas",
    },
  ],
  configures: "either",
  judgesDataFolder: true,
  rights: { read: "any", write: "any", net: "any", env: "any", sys: "any" },
  async run(context) {
    const { runDoctor } = await import("../tools/doctor/run_doctor.ts");
    return await runDoctor(context, command.options);
  },
};
