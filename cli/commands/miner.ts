/** The work is in cli/node/run_miner.ts. */

import type { Command, OptionSpec } from "../terminal/command.ts";
import { chainOptions } from "../terminal/options/named_chain.ts";
import { findingText, nodeOptions } from "../terminal/options/node_options.ts";
import { autoRestartOption, logOptions } from "../terminal/options/service_options.ts";

const pauseOptions: readonly OptionSpec[] = [
  {
    name: "schedule",
    kind: "string",
    placeholder: "HOURS",
    defaultText: "always",
    doc: 'work only at these local times, e.g. "mon-fri 22:00-07:00; sat,sun 0:00-24:00"',
  },
  { name: "idle-only", kind: "boolean", doc: "pause while other programs or people use the machine" },
  { name: "mains-only", kind: "boolean", doc: "pause while the machine runs on battery" },
  {
    name: "max-temp",
    kind: "float",
    placeholder: "C",
    min: 20,
    max: 120,
    defaultText: "no limit",
    doc: "pause while the hottest sensor is above this, in degrees Celsius",
  },
];

/** The options that need the sensors; Linux cannot tell whether a person is present. */
const sensorOptions: readonly string[] = ["mains-only", "max-temp", "idle-only"];

export const command: Command = {
  name: "miner",
  summary: "compute a stage of the model for a run",
  usage: "miner [--wallet NAME] [--orchestrator URL] [options]",
  about:
    "Chooses its device, signs in with the hotkey, loads the stage it is assigned and computes until the run is over. It dials out, so it works behind a home router. It resumes a dropped link and waits for an unreachable orchestrator. Ctrl-C and SIGTERM first finish the open step, or the merge that has begun, for at most 15 s, and hand the rest back. If most of the stage's work of the round is held here alone, the round is merged first, for at most 45 s; a second Ctrl-C leaves at once. Ctrl-C exits with 1, SIGTERM with 0. " +
    findingText +
    "While its pause rules apply, it leaves the run and frees the device's memory. SIGUSR2 pauses it by hand, a second one " +
    "resumes it. In a terminal its screen says what it does and earns, or why it waits; press ? for its keys.",
  examples: [
    "iota miner --wallet hot",
    'iota miner --wallet hot --schedule "mon-fri 22:00-07:00; sat,sun 0:00-24:00" --max-temp 80',
    "iota miner --orchestrator ws://10.0.0.5:9009 --wallet hot --hotkey second --json",
    "iota miner --orchestrator 'iota://10.0.0.5:9009/toy-1a2b3c4d#5Fhne…' --wallet hot",
    "iota miner --chain local --run toy-1a2b3c4d --wallet hot",
    "iota miner --wallet hot --listen 0.0.0.0:9010 --public-url http://203.0.113.7:9010",
  ],
  recipes: [
    {
      title: "A first miner",
      lines: [
        "iota wallet new --name hot",
        "iota miner --wallet hot    # finds a run, or takes an invite: --orchestrator",
      ],
    },
    {
      title: "Only while nobody uses the machine and it is not on battery",
      lines: [
        "iota miner --wallet hot --idle-only --mains-only --log-file miner.log",
        "kill -USR2 PID    # pauses it by hand; once more resumes it",
      ],
    },
  ],
  options: [
    ...nodeOptions,
    ...chainOptions,
    ...pauseOptions,
    ...logOptions,
    autoRestartOption,
    {
      name: "activation-mib",
      kind: "int",
      placeholder: "MIB",
      min: 0,
      max: 1_048_576,
      default: 128,
      doc: "device memory for activations kept from forward to backward; what does not fit is computed twice",
    },
    {
      name: "listen",
      kind: "string",
      placeholder: "HOST:PORT",
      doc: "let newcomers copy this stage's parameters from here",
    },
    {
      name: "public-url",
      kind: "string",
      placeholder: "URL",
      doc: "where newcomers reach this miner, if not at the address of --listen",
    },
  ],
  rights: {
    read: ["data", "hotkeys", "log", "--tls-ca"],
    write: ["data", "log"],
    net: "any",
    sys: ["cpus"],
    sensorsFor: sensorOptions,
  },
  async run(context) {
    const { runMiner } = await import("../node/run_miner.ts");
    return await runMiner(context);
  },
};
