/** Trains a tokenizer on a sample of the training text; held-out text has no part in it. */

import { TrainedTokenizer } from "../../../core/tokenizer/trained_tokenizer.ts";
import { byteTokens, vocabSizeOf } from "../../../core/tokenizer/bpe_model.ts";
import { trainBpe } from "../../../core/tokenizer/bpe_train.ts";
import { countWords } from "../../../core/tokenizer/words.ts";
import { type OpenTokenizer, openTrained } from "../data/tokenizer_file.ts";
import { UserError } from "../../program/errors.ts";
import { isSampled, partsOf, sampleEnd, type SplitRule } from "./split.ts";
import type { Spool } from "./spool.ts";

const sampleBytes = 2 ** 25; // words of more text change few merges, and are in memory
const fewestMerges = 64; // and their unit where a text is too short for more

export interface TokenizerRequest {
  readonly vocabSize: number;
  /** The option or setting that asks for it. Null: nobody does, and a text that is too short gets fewer. */
  readonly setting: ((vocabSize: number) => string) | null;
}

export function trainTokenizer(
  { text, index }: { text: Spool; index: Spool },
  rule: SplitRule,
  { vocabSize, setting }: TokenizerRequest,
): OpenTokenizer {
  const smallest = byteTokens + fewestMerges;
  if (vocabSize < smallest) {
    throw new UserError(
      `A tokenizer has at least ${smallest} tokens, of which 256 are the bytes, and ${vocabSize} are asked for`,
      { next: `Use a larger one: ${setting?.(smallest) ?? smallest}` },
    );
  }
  const model = trainBpe({ wordCounts: countWords(sample({ text, index }, rule)), vocabSize });
  const found = vocabSizeOf(model);
  if (found === vocabSize) return openTrained(new TrainedTokenizer(model));
  const fitting = Math.floor(found / fewestMerges) * fewestMerges;
  if (setting === null && fitting >= smallest) {
    return openTrained(
      new TrainedTokenizer({ merges: model.merges.slice(0, model.merges.length - (found - fitting)) }),
    );
  }
  throw new UserError(
    `Cannot make a tokenizer of ${vocabSize} tokens: the text is varied enough for only ${found}`,
    {
      next: fitting < smallest || setting === null
        ? "Use more text"
        : `Use more text, or a vocabulary that this text fills: ${setting(fitting)}`,
    },
  );
}

function* sample({ text, index }: { text: Spool; index: Spool }, rule: SplitRule): Generator<string> {
  const end = sampleEnd(index, rule, sampleBytes);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (const part of partsOf(index, rule)) {
    if (isSampled(part, end)) yield decoder.decode(text.read(part.from, part.from + part.bytes));
  }
}
