/** The work is in cli/model/generate. */

import type { Command } from "../terminal/command.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";
import { deviceOption } from "../terminal/options/node_options.ts";
import { samplingOptions } from "../terminal/options/sampling_options.ts";

export const command: Command = {
  name: "generate",
  summary: "generate text with a run's newest checkpoint, or another model",
  usage: "generate [--run DIR|--model DIR] [--prompt TEXT] [options]",
  examples: [
    'iota generate --run runs/demo --prompt "The people" --tokens 60',
    'iota generate --run runs/demo --prompt "My fellow" --temperature 0 --json',
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    modelOption,
    { name: "prompt", kind: "string", placeholder: "TEXT", default: "The people", doc: "how the text begins" },
    {
      name: "tokens",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 100_000,
      default: 60,
      doc: "the largest number of tokens to generate",
    },
    ...samplingOptions,
    deviceOption,
  ],
  rights: { read: ["--run", "--data", "--model"] },
  takesOwnRun: newestWithoutModel,
  async run(context) {
    const { runGenerate } = await import("../model/generate/run_generate.ts");
    return await runGenerate(context);
  },
};
