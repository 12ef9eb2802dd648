/** `iota experiment`: compares wires, merges, swarms and links by training, and forms of attribution. The work is in cli/experiment. */

import type { Command } from "../command.ts";
import { deviceOption, threadsOption } from "../options/node_options.ts";
import { runOptions } from "../options/run_options.ts";

export const command: Command = {
  name: "experiment",
  summary: "compare wires, merges, whole swarms, links or attributions by training with each",
  usage: "experiment codecs|merge|swarm|links|clasp|zoo|payloads|byzantine [--seeds N] [--steps N] [options]",
  about:
    "Trains a whole swarm in this one process and in virtual time, with the code of real miners and orchestrator, once for each " +
    "row and seed, and tells how far its loss on held-out text ends from the control's, with the standard error over seeds. " +
    "Codecs compares what crosses between stages, merge what replicas of a stage send each other, swarm both together with " +
    "one process, links how steps of more microbatches fare over home lines. Clasp measures on a trained model what cheating " +
    "miners do to the loss, and how many samples each form of attribution needs to find them. Zoo has a trained stage audited " +
    "while it cheats in many ways, by this program's rule and by a cosine. Payloads compares what a merge is without each " +
    "payload with cheaper values of payloads. Byzantine has replicas of a stage commit lies, and merges with and without this " +
    "program's rules.",
  examples: [
    "iota experiment codecs --seeds 3",
    "iota experiment merge --steps 100 --json",
    "iota experiment clasp --seeds 5",
    "iota experiment byzantine --size toy",
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
    ...runOptions.filter(({ name }) => name !== "resume" && name !== "fresh"),
    { ...deviceOption, defaultText: "cpu" },
    threadsOption,
  ],
  configures: "run",
  positionals: {
    max: 1,
    placeholder: "NAME",
    choices: ["codecs", "merge", "swarm", "links", "clasp", "zoo", "payloads", "byzantine"],
  },
  rights: { read: "any", write: "any", env: "any", sys: ["systemMemoryInfo"] },
  async run(context) {
    if (context.positionals[0] === "clasp") {
      return await (await import("../experiment/clasp/run_clasp.ts")).runClasp(context);
    }
    if (context.positionals[0] === "zoo") return await (await import("../experiment/zoo/run_zoo.ts")).runZoo(context);
    if (context.positionals[0] === "payloads") {
      return await (await import("../experiment/payloads/run_payloads.ts")).runPayloads(context);
    }
    if (context.positionals[0] === "byzantine") {
      return await (await import("../experiment/byzantine/run_byzantine.ts")).runByzantine(context);
    }
    return await (await import("../experiment/run_experiment.ts")).runExperiment(context);
  },
};
