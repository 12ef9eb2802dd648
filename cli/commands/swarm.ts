/** The work is in cli/swarm/run_swarm.ts. */

import { chaosGrammar, linksGrammar } from "../swarm/chaos/grammars.ts";
import type { Command, OptionSpec } from "../terminal/command.ts";
import { deviceOption, memoryOption, threadsOption } from "../terminal/options/node_options.ts";
import { fromOption, runOptions } from "../terminal/options/run_options.ts";

/** Of the machine, the chain, and what happens to nodes: no run keeps them. */
export const swarmOptions: readonly OptionSpec[] = [
  {
    name: "port",
    kind: "int",
    placeholder: "PORT",
    min: 0,
    max: 65535,
    default: 0,
    doc: "the orchestrator's port; 0 takes any free one",
  },
  {
    name: "sample-tokens",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 10_000,
    default: 60,
    doc: "length of the sample at the end; 0 for none",
  },
  deviceOption,
  {
    ...threadsOption,
    defaultText: "the cores shared between the nodes, at least 1",
    doc: "threads of each node that compute its stage where the processor is the device",
  },
  memoryOption,
  {
    name: "chain",
    kind: "choice",
    placeholder: "NAME",
    choices: ["local", "none"],
    default: "local",
    doc: "run a local chain, where validators set weights and miners earn, or none",
  },
  {
    name: "links",
    kind: "string",
    placeholder: "SHAPE",
    defaultText: "loopback as it is",
    doc: `give every node a line of its own to the orchestrator; SHAPE is ${linksGrammar}`,
  },
  {
    name: "chaos",
    kind: "string",
    placeholder: "PLAN",
    defaultText: "nothing",
    doc: `break parts of the swarm on schedule, and restart what died; PLAN is ${chaosGrammar}`,
  },
];

export const command: Command = {
  name: "swarm",
  summary: "train a model on this machine: orchestrator, miners and validators as processes",
  usage: "swarm [--size NAME] [--stages K] [--replicas N] [options]",
  about:
    "Starts every role as a process on this machine, each with its own hotkey, trains on real text and ends with a sample of the model's text. In a terminal its page then stays up until Enter, or 10 minutes without a viewer. During the run, ? lists the screen's keys and Ctrl-C ends all of them; with the run's folder (--data) it resumes from its last merge, as its miners' memory ends with them.",
  examples: [
    "iota swarm --size tiny --stages 3 --replicas 2 --steps 40",
    "iota swarm --data runs/demo --steps 200",
    "iota swarm --from runs/demo --codec none --steps 300",
    "iota swarm --size toy --deterministic --json",
    'iota swarm --steps 60 --links "40ms 20mbit"',
    'iota swarm --replicas 2 --chaos "kill-miner every 20 steps; kill-orchestrator at step 30"',
  ],
  options: [...runOptions, fromOption, ...swarmOptions],
  configures: "run",
  rights: {
    read: ["data", "corpus", "tuning", "--from"],
    write: ["data"],
    net: "loopback",
    run: ["self"],
    sys: ["systemMemoryInfo"],
  },
  async run(context) {
    const { runSwarm } = await import("../swarm/run_swarm.ts");
    return await runSwarm(context, swarmOptions);
  },
};
