/**
 * `lab experiment`: compares wires, merges, swarms and links by training, and forms of attribution. The work is in
 * tests/lab/experiments.
 */

import type { Command, CommandContext, OptionSpec } from "../../../cli/terminal/command.ts";
import { deviceOption, threadsOption } from "../../../cli/terminal/options/node_options.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import { runOptions } from "../../../cli/terminal/options/run_options.ts";

type Run = (context: CommandContext) => Promise<number>;

/** Of the experiments that are more than rows of settings (experiments.ts). */
const ownRunners: Readonly<Record<string, () => Promise<Run>>> = {
  clasp: async () => (await import("../experiments/clasp/run_clasp.ts")).runClasp,
  audits: async () => (await import("../experiments/audits/run_audits.ts")).runAudits,
};

const training = async (): Promise<Run> => (await import("../experiments/run_experiment.ts")).runExperiment;

/** Settings that most experiments set for themselves, and whose defaults are then not those of other runs. */
const ownDefaults: Readonly<Record<string, string>> = {
  stages: "the experiment's, or from --size",
  replicas: "the experiment's",
  validators: "the experiment's",
  steps: "the experiment's, or from --size",
  codec: "the experiment's, or from --size",
  merge: "the experiment's, or from --size",
};

function withOwnDefault(option: OptionSpec): OptionSpec {
  const defaultText = ownDefaults[option.name];
  return defaultText === undefined ? option : { ...option, defaultText };
}

const names = ["codecs", "merge", "swarm", "links", ...Object.keys(ownRunners)];

export const command: Command = {
  name: "experiment",
  summary: "compare wires, merges, whole swarms, links or attributions by training with each",
  usage: "experiment NAME [--seeds N] [--steps N] [options]",
  about:
    "Trains a whole swarm in this one process and in virtual time, with the code of real miners and orchestrator, once for each " +
    "row and seed, and tells how far its loss on held-out text ends from the control's, with the standard error over seeds. " +
    "Codecs compares what crosses between stages; the row zero is a control whose wires say nothing, and the utility of " +
    "another row is its share of the way from there to whole wires. Merge compares what replicas of a stage send each other, " +
    "swarm both with one process, links how steps of more microbatches fare over home lines, where --steps counts the smallest " +
    "ones and larger ones are fewer. Clasp measures on a trained model what cheating miners do to the loss, and how many samples " +
    "each form of attribution needs to find them. Audits simulates swarms without computing, and tells in how many rounds " +
    "validators meet miners that cheat in some of their tasks.",
  examples: [
    "lab experiment codecs --seeds 3",
    "lab experiment codecs --rows zero,resbm,q5block --steps 300",
    "lab experiment merge --steps 100 --json",
    "lab experiment clasp --seeds 5",
    "lab experiment audits --seeds 10 --json",
  ],
  options: [
    {
      name: "seeds",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 100,
      default: 3,
      doc: "runs of every row, with seeds from --seed on",
    },
    {
      name: "rows",
      kind: "string",
      placeholder: "TEXT,…",
      doc: "of codecs, merge, swarm and links: only the control and rows whose names contain one of these",
      defaultText: "all",
    },
    ...runOptions.filter(({ name }) => name !== "resume" && name !== "fresh").map(withOwnDefault),
    { ...deviceOption, defaultText: "cpu" },
    threadsOption,
  ],
  configures: "run",
  positionals: {
    max: 1,
    placeholder: "NAME",
    choices: names,
  },
  rights: { read: "any", write: "any", env: "any", sys: "any" }, // whole rights: see confinement.ts
  async run(context) {
    const own = namedExperiment(context.positionals[0]);
    context.interruption(); // from here on Ctrl-C ends with a summary
    const runner = ownRunners[own];
    if (runner !== undefined && context.options.text("rows") !== undefined) {
      throw new UsageError(`Leave --rows out: ${own} has no rows to choose`);
    }
    return await (await (runner ?? training)())(context);
  },
};

function namedExperiment(name: string | undefined): string {
  if (name !== undefined && names.includes(name)) return name;
  throw new UsageError(
    `${name === undefined ? "No experiment is named" : `There is no experiment '${name}'`}, only ${names.join(", ")}`,
    { next: "For example: lab experiment codecs --steps 60 --seeds 1" },
  );
}
