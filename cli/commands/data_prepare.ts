/** The work is in cli/model/prepare. */

import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "data prepare",
  summary: "turn texts into a dataset: tokens, a tokenizer, and what is held out",
  usage: "data prepare --input PLACE [PLACE…] [options]",
  about:
    "Reads text, folders of files, JSON Lines, JSON lists, CSV and Parquet, also inside gzip and zstd, from files or web addresses. " +
    "In text, <|endoftext|> on a line of its own ends a document; elsewhere it is text. Equal documents count once. A share of the " +
    "documents is held out for validators. Memory use does not grow with the text; beside the dataset, the disk holds a copy of the " +
    "text until it is done. After an interruption, the same command goes on.",
  examples: [
    "iota data prepare --input texts.jsonl --field text --out data/texts",
    "iota data prepare --input books/ articles.parquet --weights 1,0.5 --vocab 16384 --out data/mix",
    "iota data prepare --input https://example.org/texts.jsonl.gz --out data/web",
  ],
  options: [
    { name: "input", kind: "string", placeholder: "PLACE", doc: "a file, a folder or a web address; more may follow" },
    {
      name: "out",
      kind: "string",
      placeholder: "DIR",
      defaultText: "a folder named after the input, in your data folder",
      doc: "the folder to write",
    },
    {
      name: "format",
      kind: "choice",
      placeholder: "NAME",
      choices: ["text", "jsonl", "json", "csv", "parquet"],
      defaultText: "by first bytes and name",
      doc: "what the inputs are",
    },
    {
      name: "field",
      kind: "string",
      placeholder: "NAME",
      default: "text",
      doc: "the field or column with the text; a dot goes into an object",
    },
    { name: "separator", kind: "string", placeholder: "TEXT", doc: "what separates documents in text, anywhere" },
    {
      name: "weights",
      kind: "string",
      placeholder: "N,N,…",
      defaultText: "1 each",
      doc: "how often each input's documents are used: 2 is twice, 0.5 every other one",
    },
    {
      name: "tokenizer",
      kind: "string",
      placeholder: "FILE",
      defaultText: "trained on the text",
      doc: "a tokenizer.json",
    },
    {
      name: "end-of-text",
      kind: "string",
      placeholder: "TOKEN",
      defaultText: "what files beside it say, or a well-known one",
      doc: "the token of that tokenizer which ends a document",
    },
    {
      name: "vocab",
      kind: "int",
      placeholder: "N",
      min: 320,
      max: 262_144,
      defaultText: "4096, or as many as a short text fills",
      doc: "tokens of a trained tokenizer",
    },
    {
      name: "held-out",
      kind: "float",
      placeholder: "SHARE",
      min: 0.0001,
      max: 0.5,
      default: 0.04,
      doc: "share of the text that no miner sees",
    },
    {
      name: "max-bytes",
      kind: "int",
      placeholder: "N",
      min: 0,
      default: 0,
      doc: "how much of the text is used; 0 is all",
    },
    {
      name: "license",
      kind: "string",
      placeholder: "NAME",
      doc: "of the texts, for the card of models trained on them",
    },
    { name: "origin", kind: "string", placeholder: "TEXT", doc: "where the texts come from, for the same card" },
    {
      name: "seed",
      kind: "int",
      placeholder: "N",
      min: 0,
      max: 4_294_967_295,
      default: 1,
      doc: "chooses what is held out",
    },
    {
      name: "threads",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 1024,
      defaultText: "one a core",
      doc: "encode on so many",
    },
  ],
  positionals: { max: 10_000, placeholder: "PLACE" },
  rights: { read: "any", write: ["data", "--out"], net: "any" },
  async run(context) {
    return await (await import("../model/prepare/run_prepare.ts")).runPrepare(context);
  },
};
