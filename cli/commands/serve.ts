/** The work is in cli/model/serve. */

import type { Command } from "../terminal/command.ts";
import { listenOptions } from "../terminal/options/hub_options.ts";
import { deviceOption } from "../terminal/options/node_options.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";

export const command: Command = {
  name: "serve",
  summary: "serve a model over HTTP as OpenAI does, to several clients at once",
  usage: "serve [--run DIR|--model DIR] [--port PORT] [options]",
  about:
    "Answers /v1/completions and, for models with a chat template, /v1/chat/completions, both with streaming; also /v1/models and " +
    "/health, and has a page to try the model. Requests are computed " +
    "together; beyond --parallel they wait, and beyond --queue they are refused with 429. It listens on this machine only, " +
    "unless --host says otherwise; it knows no passwords, so put a proxy with one in front of it.",
  examples: [
    "iota serve --run runs/demo --port 8000",
    "iota serve --model out/model --parallel 32 --name demo",
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    modelOption,
    {
      name: "name",
      kind: "string",
      placeholder: "NAME",
      defaultText: "the folder's",
      doc: "the model's name for clients",
    },
    { name: "parallel", kind: "int", placeholder: "N", min: 1, max: 256, default: 16, doc: "texts computed at once" },
    { name: "queue", kind: "int", placeholder: "N", min: 0, max: 10_000, default: 64, doc: "requests that may wait" },
    {
      name: "max-tokens",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 1_000_000,
      default: 4096,
      doc: "the most new tokens of one request",
    },
    ...listenOptions({ port: 8000 }),
    deviceOption,
  ],
  rights: { read: ["--run", "--data", "--model"], net: "any" },
  takesOwnRun: newestWithoutModel,
  async run(context) {
    return await (await import("../model/serve/run_serve.ts")).runServe(context);
  },
};
