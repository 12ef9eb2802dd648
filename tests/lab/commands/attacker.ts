/** `lab attacker`: a miner that attacks a run of one's own on this machine, as a process. */

import { isLoopbackHost } from "../../../cli/address/public_address.ts";
import type { Command } from "../../../cli/terminal/command.ts";
import { command as miner } from "../../../cli/commands/miner.ts";
import { hostOf } from "../../../cli/address/hub_pin.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import { processAttackNames } from "../redteam/attack_names.ts";

export const command: Command = {
  ...miner,
  name: "attacker",
  summary: "join a run of your own on this machine with a miner that misbehaves",
  usage: "attacker --attack NAME --orchestrator URL [options]",
  about:
    "A miner in every other way: it is admitted, gets a stage, and attacks as the attacker of that name in lab redteam.",
  examples: ["lab attacker --attack flip --orchestrator ws://127.0.0.1:9009 --wallet hot"],
  options: [
    ...miner.options,
    {
      name: "attack",
      kind: "choice",
      placeholder: "NAME",
      choices: processAttackNames,
      default: "flip",
      doc: "what it does",
    },
  ],
  async run(context) {
    const url = context.options.text("orchestrator") ?? "";
    if (!isLoopbackHost(hostOf(url))) {
      throw new UsageError(`Cannot attack '${url}': --orchestrator must name a run on this machine`, {
        next: "For example: --orchestrator ws://127.0.0.1:9009",
      });
    }
    return await (await import("../redteam/run_attacker.ts")).runAttacker(context);
  },
};
