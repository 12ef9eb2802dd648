/** The work is in cli/model/generate. */

import type { Command } from "../terminal/command.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";
import { deviceOption } from "../terminal/options/node_options.ts";

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
    {
      name: "temperature",
      kind: "float",
      placeholder: "X",
      min: 0,
      max: 100,
      default: 0.8,
      doc: "0 always takes the most likely token",
    },
    {
      name: "top-k",
      kind: "int",
      placeholder: "N",
      min: 0,
      default: 40,
      doc: "candidates for each token; 0 takes all",
    },
    {
      name: "top-p",
      kind: "float",
      placeholder: "X",
      min: 0,
      max: 1,
      default: 1,
      doc: "of those, only the likeliest that together have this probability",
    },
    { name: "stop", kind: "string", placeholder: "TEXT", doc: "end the text before this one" },
    {
      name: "seed",
      kind: "int",
      placeholder: "N",
      min: 0,
      max: 0xffff_ffff,
      default: 1,
      doc: "equal seeds give equal text",
    },
    deviceOption,
  ],
  rights: { read: ["--run", "--data", "--model"] },
  takesOwnRun: newestWithoutModel,
  async run(context) {
    const { runGenerate } = await import("../model/generate/run_generate.ts");
    return await runGenerate(context);
  },
};
