/** Collects a text that memory can hold: the built-in speeches, or the file or folder that a run's settings name. */

import { resolve } from "node:path";
import { UserError } from "../../program/errors.ts";
import { shellWord } from "../../program/shell_words.ts";
import { plural } from "../../terminal/text/format.ts";
import { isFile } from "../../files/disk.ts";
import { type DatasetInput, manifestName } from "../data/dataset_manifest.ts";
import { filesOfInput } from "../inputs/input_list.ts";
import { openInput } from "../inputs/open_input.ts";
import { speeches, speechesName } from "../inputs/speeches.ts";
import { Collector, type Source, sumOf } from "./collect.ts";
import { planSplit, type SplitRule } from "./split.ts";
import { MemorySpool } from "./spool.ts";
import type { CollectedText } from "./write_dataset.ts";

const limitBytes = 256 * 1024 * 1024;

export interface SplitOptions {
  readonly heldOutFraction: number; // in (0, 1)
  readonly maxBytes: number; // 0 = all
  readonly seed: number;
}

export async function collectSmall(corpus: string, options: SplitOptions): Promise<CollectedText> {
  const [text, index] = [new MemorySpool(), new MemorySpool()];
  const collector = new Collector({ text, index, seed: options.seed, mostBytes: limitBytes });
  const counts = [];
  const sources = await sourcesOf(corpus);
  for (const source of sources) {
    const counted = await collector.add(source.pieces(() => {}), 0);
    if (counted === null) throw tooLarge(corpus);
    counts.push(counted);
  }
  const all = sumOf(counts);
  const inputs: DatasetInput[] = [{ name: corpus, format: sources[0]!.format, weight: 1, ...all }];
  return { text, index, rule: splitOf({ text, index }, options, all.documents - all.duplicates), source: all, inputs };
}

/** Whether a corpus is a dataset already. */
export const isPrepared = async (corpus: string): Promise<boolean> =>
  corpus !== speechesName && await isFile(`${corpus}/${manifestName}`);

/** Reads all of the text and keeps nothing. */
export async function mustBeCorpus(corpus: string): Promise<void> {
  if (await isPrepared(corpus)) return;
  let count = 0;
  for (const { pieces } of await sourcesOf(corpus)) for await (const batch of pieces(() => {})) count += batch.length;
  if (count === 0) throw isEmpty();
}

async function sourcesOf(corpus: string): Promise<Source[]> {
  if (corpus === speechesName) return [{ format: "text", pieces: speeches }];
  const sources: Source[] = [];
  for (const path of await filesOfInput(resolve(corpus))) {
    const { format, pieces } = await openInput(path, {});
    sources.push({ format, pieces });
  }
  return sources;
}

export function splitOf(
  { text, index }: Pick<CollectedText, "text" | "index">,
  { heldOutFraction, maxBytes }: Pick<SplitOptions, "heldOutFraction" | "maxBytes">,
  documents: number,
): SplitRule {
  if (text.bytes === 0) throw isEmpty();
  const rule = planSplit(index, { textBytes: text.bytes, heldOutFraction, maxBytes });
  if (rule !== null) return rule;
  throw new UserError(
    "Cannot split the text into documents to train on and others to evaluate: " +
      `it has ${plural(documents, "different document")} in ${plural(text.bytes, "byte")}`,
    { next: "Use more text" },
  );
}

const isEmpty = (): UserError => new UserError("The input has no text: it is empty", { next: "Pass another file" });

const tooLarge = (corpus: string): UserError =>
  new UserError(`The text '${corpus}' has more than ${limitBytes} bytes, which a run does not prepare by itself`, {
    next: `Prepare it once: iota data prepare --input ${shellWord(corpus)} --out DIR; then pass --data-set DIR`,
  });
