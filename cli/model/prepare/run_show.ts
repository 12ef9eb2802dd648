/** `iota data show`: what a dataset holds, with beginnings of its documents. */

import type { CommandContext } from "../../terminal/command.ts";
import { harmless } from "../../terminal/text/foreign_text.ts";
import { UsageError } from "../../program/errors.ts";
import { datasetNamed } from "../../program/paths.ts";
import { type Dataset, openDataset, placeOfFiles } from "../data/dataset.ts";
import { describeDataset, factsOf } from "./describe_dataset.ts";
import { TokenReader } from "../data/token_file.ts";

export async function runShow({ positionals: [name], options, output, environment }: CommandContext): Promise<number> {
  if (name === undefined) {
    throw new UsageError("There is no dataset to show", { next: "For example: iota data show data/texts" });
  }
  const dataset = await openDataset(datasetNamed(environment, name));
  const samples = samplesOf(dataset, options.number("samples")!);
  dataset.close();
  const lines = [...describeDataset(dataset), ...samples.map((sample) => `  ${JSON.stringify(sample)}`)];
  output.answer({ dataset: dataset.folder, ...factsOf(dataset), samples }, lines.join("\n"));
  return 0;
}

const searchedTokens = 4096; // for the beginning of a document
const shownTokens = 60;
const shownChars = 200;

/** Beginnings of training documents, evenly over the text. */
function samplesOf({ folder, manifest, tokenizer }: Dataset, count: number): string[] {
  const place = placeOfFiles(folder, manifest);
  const files = manifest.train.files.map(({ name, tokens }) => ({ path: `${place}/${name}`, tokens }));
  const reader = new TokenReader({ files, tokenBytes: manifest.tokenBytes, vocabSize: tokenizer.vocabSize });
  try {
    return Array.from({ length: count }, (_, i) => {
      const from = Math.floor(i * reader.tokens / count);
      const tokens = reader.read(from, Math.min(searchedTokens, reader.tokens - from));
      const end = i === 0 ? -1 : tokens.indexOf(tokenizer.endOfText);
      const start = end >= 0 && end + 1 < tokens.length ? end + 1 : 0;
      const shown = tokens.subarray(start, start + shownTokens);
      const next = shown.indexOf(tokenizer.endOfText);
      return harmless(tokenizer.decode(next < 0 ? shown : shown.subarray(0, next)), shownChars);
    });
  } finally {
    reader.close();
  }
}
