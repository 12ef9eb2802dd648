/** The work is in cli/model/export. */

import type { Command } from "../terminal/command.ts";
import { modelOption, newestWithoutModel, ownRunOption } from "../terminal/options/own_run.ts";

export const command: Command = {
  name: "export",
  summary: "write a run's model as a folder that Hugging Face transformers loads",
  usage: "export [--run DIR] --out DIR [options]",
  about:
    "Writes config.json, the tokenizer, safetensors and a model card with the run's own numbers. A run whose stages exchange " +
    "everything (codec none, no side embeddings) gives a plain Llama. Any other also gets modeling_iota.py, which computes what " +
    "a Llama class would leave out; transformers runs it only with trust_remote_code=True. iota plan says in advance which it is.",
  examples: [
    "iota export --run runs/demo --out out/model",
    "iota export --run runs/demo --out out/model --type bf16 --json",
    "iota export --run runs/plain --gguf --out out/model",
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    modelOption,
    { name: "out", kind: "string", placeholder: "DIR", doc: "the folder to write; it must not hold a model" },
    { name: "gguf", kind: "boolean", doc: "write a plain Llama as model.gguf, which llama.cpp loads" },
    {
      name: "type",
      kind: "choice",
      placeholder: "NAME",
      choices: ["f32", "bf16"],
      default: "f32",
      doc: "floats of the tensors: as trained, or rounded to half the size",
    },
    {
      name: "shard-mb",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 1_000_000,
      default: 5_000,
      doc: "begin another file beyond this size, in megabytes",
    },
  ],
  rights: { read: ["--run", "--data", "--model", "--out"], write: ["--out"] },
  takesOwnRun: newestWithoutModel,
  async run(context) {
    const { runExport } = await import("../model/export/run_export.ts");
    const { trainedFacts } = await import("../observe/ledger/trained_facts.ts");
    return await runExport(context, trainedFacts);
  },
};
