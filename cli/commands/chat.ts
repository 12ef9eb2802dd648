/** The work is in cli/model/chat. */

import type { Command } from "../terminal/command.ts";
import { deviceOption } from "../terminal/options/node_options.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";
import { samplingOptions } from "../terminal/options/sampling_options.ts";

export const command: Command = {
  name: "chat",
  summary: "talk with a model that has a chat template",
  usage: "chat [--run DIR|--model DIR] [--system TEXT] [options]",
  about:
    "Reads a message from each line, on the terminal or from a pipe, and prints the answer while it is made. Ctrl-C ends an " +
    "answer and, where there is none, the program. The model remembers the conversation as far as --context reaches: the oldest " +
    'turns leave first, the system message stays. With --json, a line may also be a message, {"role": "user", "content": "…"}; ' +
    "the roles system and assistant are taken without an answer. A model without a chat template continues texts: iota generate.",
  examples: [
    "iota chat --model models/llama-3.2-1b-instruct",
    'iota chat --model models/llama-3.2-1b-instruct --system "Be brief" --temperature 0',
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    modelOption,
    { name: "system", kind: "string", placeholder: "TEXT", doc: "tell the model first how it should answer" },
    {
      name: "tokens",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 100_000,
      default: 512,
      doc: "the largest number of tokens of an answer",
    },
    {
      name: "context",
      kind: "int",
      placeholder: "N",
      min: 16,
      max: 2 ** 20,
      default: 4096,
      doc: "tokens of the conversation that the model sees, up to its own context; its cache takes memory for them",
    },
    ...samplingOptions,
    deviceOption,
  ],
  rights: { read: ["--run", "--data", "--model"] },
  takesOwnRun: newestWithoutModel,
  async run(context) {
    return await (await import("../model/chat/run_chat.ts")).runChat(context);
  },
};
