/**
 * `iota orchestrate`: owns a run. The work is in cli/run/run_orchestrator.ts; this is its face on the command line.
 */

import type { Command } from "../command.ts";
import { listenOptions } from "../listen_options.ts";
import { runOptions } from "../run_options.ts";
import { walletOptions } from "../wallet_options.ts";
import { logOptions } from "../service/service_options.ts";

export const command: Command = {
  name: "orchestrate",
  summary: "own a run: wire miners together, merge, keep checkpoints",
  usage: "orchestrate [--config run.toml] [options]",
  about:
    "The orchestrator computes nothing of the model: it hands out tasks, closes steps and rounds, and keeps every wire until its step is closed, so that no work is lost when a miner dies. Miners and validators dial in. Ctrl-C stops the orchestrator, not the run: they wait, and the same command goes on at the same step. " +
    "A folder that holds a run is gone on with, any other begins one; without --data it is the folder of the run's name. Rates, steps and limits may change from one start to the next; what must stay is refused by name.",
  examples: [
    "iota orchestrate --config run.toml",
    "iota orchestrate --size tiny --replicas 2 --port 9009",
    "iota orchestrate --data runs/first --set train.learningRate=1e-3",
  ],
  options: [
    ...listenOptions({ port: 9009 }),
    ...runOptions,
    ...logOptions,
    ...walletOptions.map((option) =>
      option.name === "wallet"
        ? {
          name: "wallet",
          kind: "string" as const,
          placeholder: "NAME",
          defaultText: "one made in the data folder",
          doc: "the wallet whose hotkey signs for the orchestrator",
        }
        : option
    ),
  ],
  configures: "run",
  rights: {
    read: ["data", "hotkeys", "--corpus", "log"],
    write: ["data", "hotkeys", "log"],
    net: "any",
  },
  async run(context) {
    const { runOrchestrator } = await import("../run/run_orchestrator.ts");
    return await runOrchestrator(context);
  },
};
