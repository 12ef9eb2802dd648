/** `lab redteam`: a catalogue of attackers against whole swarms in this process. The work is in tests/lab/redteam. */

import type { Command } from "../../../cli/terminal/command.ts";
import { runOptions } from "../../../cli/terminal/options/run_options.ts";
import { attackNames } from "../redteam/attack_names.ts";

const decided = ["resume", "fresh", "stages", "replicas", "validators", "steps", "merge"]; // by the attacks

export const command: Command = {
  name: "redteam",
  summary: "run known attacks against a swarm in this process and measure what they achieve",
  usage: "redteam [--attack NAME|all] [--rounds N] [--honest-rounds N] [options]",
  about:
    "Runs a swarm of three stages with three replicas and three validators in this one process and in virtual time, with the code " +
    "of real miners, validators and orchestrator; then once more for each attack, with hostile members. Prints in " +
    "which round the attacker was detected, whether it was banned, what it earned compared with an honest miner, how much " +
    "worse the model became, and how many honest members were banned by mistake. Exits with 1 if any was.",
  examples: ["lab redteam --attack lazy", "lab redteam --attack all --json"],
  options: [
    {
      name: "attack",
      kind: "choice",
      placeholder: "NAME",
      choices: ["all", ...attackNames],
      default: "all",
      doc: "one attack of the catalogue, or all of them in turn",
    },
    {
      name: "rounds",
      kind: "int",
      placeholder: "N",
      min: 2,
      max: 1000,
      default: 20,
      doc: "rounds of each run",
    },
    {
      name: "honest-rounds",
      kind: "int",
      placeholder: "N",
      min: 0,
      max: 999,
      default: 0,
      doc: "of these, how many the attackers work honestly first; they keep the pay of those that has vested",
    },
    ...runOptions.filter(({ name }) => !decided.includes(name)).map((option) =>
      option.name === "size" ? { ...option, defaultText: "toy" } : option
    ),
  ],
  configures: "run",
  rights: { read: "any", write: "any", env: "any" },
  async run(context) {
    return await (await import("../redteam/run_redteam.ts")).runRedteam(context);
  },
};
