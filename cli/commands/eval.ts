/** The work is in cli/model/eval. */

import type { Command } from "../terminal/command.ts";
import { deviceOption } from "../terminal/options/node_options.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";

export const command: Command = {
  name: "eval",
  summary: "measure models on a text or on multiple-choice questions, side by side",
  usage: "eval [--run DIR|--model DIR] [DIR…] [--text FILE] [--choices FILE] [options]",
  about:
    "On a text: nats per token and bits per byte, in windows of the model's context, of at most 4096 tokens. On questions in JSON lines (as ARC, HellaSwag, " +
    'or {"question", "choices", "answer"}): how often the likeliest choice is the right one, also per byte of the choice. Each DIR ' +
    "is a run, a checkpoint, an export or a Hugging Face Llama.",
  examples: [
    "iota eval --model out/model --text some.txt --json",
    "iota eval runs/demo out/model --text some.txt --choices arc_easy.jsonl",
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    modelOption,
    { name: "text", kind: "string", placeholder: "FILE", doc: "a text in UTF-8" },
    { name: "choices", kind: "string", placeholder: "FILE", doc: "questions, one JSON object a line" },
    deviceOption,
  ],
  positionals: { max: 8, placeholder: "DIR" },
  rights: { read: "any" },
  takesOwnRun: ({ options, positionals }) => positionals.length > 0 ? null : newestWithoutModel({ options }),
  async run(context) {
    return await (await import("../model/eval/run_eval.ts")).runEval(context);
  },
};
