/**
 * `lab sim`: simulates a whole swarm under faults, in one thread and virtual time. The work is in tests/lab/sim/run_sim.ts.
 */

import { linksGrammar } from "../../../cli/swarm/chaos/grammars.ts";
import type { Command } from "../../../cli/terminal/command.ts";

export const command: Command = {
  name: "sim",
  summary: "simulate a swarm under faults: thousands of miners in seconds, replayed by a seed",
  usage: "sim [--seed N] [--miners N] [--minutes M] [--faults KINDS] [--links SHAPE] [options]",
  about:
    "Runs the machines of orchestrator, miners and validators in virtual time on a simulated network, checks every rule of the protocol, then stops the faults and checks that the run recovers. A failure prints the line that replays it.",
  examples: [
    "lab sim --seed 7 --miners 256 --minutes 5 --faults kill,cut",
    "lab sim --seed 7 --miners 256 --minutes 5 --faults all --shrink",
    "lab sim --miners 2000 --faults none --json",
    'lab sim --miners 24 --faults none --links "150ms 5mbit jitter 20ms reset 5min"',
  ],
  options: [
    {
      name: "seed",
      kind: "int",
      placeholder: "N",
      min: 0,
      max: 0xffff_ffff,
      default: 1,
      doc: "equal seeds give equal runs",
    },
    {
      name: "seeds",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 1_000_000,
      defaultText: "one run",
      doc: "run so many seeds from --seed on, side by side, and count those that pass",
    },
    { name: "miners", kind: "int", placeholder: "N", min: 1, max: 16_000, default: 256, doc: "miners at the start" },
    {
      name: "minutes",
      kind: "float",
      placeholder: "M",
      min: 0,
      max: 100_000,
      default: 2,
      doc: "virtual minutes with faults",
    },
    {
      name: "faults",
      kind: "string",
      placeholder: "KINDS",
      default: "drawn",
      doc: "kinds separated by commas, all, none, or drawn by the seed",
    },
    {
      name: "forward-ms",
      kind: "int",
      placeholder: "MS",
      min: 1,
      max: 3_600_000,
      defaultText: "drawn by the seed",
      doc: "a median miner's time for a forward task",
    },
    {
      name: "links",
      kind: "string",
      placeholder: "SHAPE",
      defaultText: "drawn for each node",
      doc: `the line of every node; SHAPE is ${linksGrammar}`,
    },
    { name: "shrink", kind: "boolean", doc: "search for a smaller run that also fails" },
  ],
  async run(context) {
    const { runSim } = await import("../sim/run_sim.ts");
    return runSim(context);
  },
};
