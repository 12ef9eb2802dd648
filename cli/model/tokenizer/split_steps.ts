/** `pre_tokenizer` of a `tokenizer.json`: how a text becomes words. */

import * as v from "valibot";
import { splitPattern } from "../../../core/tokenizer/split_pattern.ts";
import { inSequence, type Split, splitAt, splitBehaviors, unsplit } from "../../../core/tokenizer/splits.ts";
import { gpt2Words } from "../../../core/tokenizer/words.ts";
import { type FilePart, partsOf, quoted, type Refuse, shaped } from "./refusal.ts";

export interface SplitSteps {
  /** Bytes are spelled in GPT-2's alphabet. */
  readonly isByteLevel: boolean;
  readonly metaspace: Metaspace | null;
  readonly split: Split;
}

/** Spaces as a character, and one more before the text (SentencePiece). */
export interface Metaspace {
  readonly space: string;
  readonly before: "always" | "first" | "never";
}

const splitShape = v.looseObject({
  pattern: v.union([v.object({ String: v.string() }), v.object({ Regex: v.string() })]),
  behavior: v.picklist(splitBehaviors),
  invert: v.optional(v.boolean(), false),
});
const digitsShape = v.looseObject({ individual_digits: v.optional(v.boolean(), false) });
const byteLevelShape = v.looseObject({ add_prefix_space: v.boolean(), use_regex: v.optional(v.boolean(), true) });
const metaspaceShape = v.looseObject({
  replacement: v.pipe(v.string(), v.check((text) => [...text].length === 1, "must be one character")),
  prepend_scheme: v.optional(v.picklist(["always", "first", "never"])),
  add_prefix_space: v.optional(v.boolean()),
  split: v.optional(v.boolean(), true),
});

export function readSplits(value: unknown, refuse: Refuse): SplitSteps {
  const parts = partsOf(value, { member: "pretokenizers", where: "pre_tokenizer", refuse });
  const splits: Split[] = [];
  let [isByteLevel, metaspace]: [boolean, Metaspace | null] = [false, null];
  for (const part of parts) {
    // What follows would cut the bytes' stand-ins, or text that has its spaces replaced.
    if (isByteLevel || metaspace !== null) return refuse(`pre_tokenizer has ${part.type} where it must end`);
    const options = { where: `pre_tokenizer ${part.type}`, refuse };
    switch (part.type) {
      case "Split":
        splits.push(splitOf(part, refuse));
        break;
      case "Digits": {
        const { individual_digits } = shaped(part, { shape: digitsShape, ...options });
        const behavior = individual_digits ? "Isolated" : "Contiguous";
        splits.push(splitAt(/\p{N}/gu, { behavior, isInverted: false }));
        break;
      }
      case "ByteLevel": {
        const { add_prefix_space, use_regex } = shaped(part, { shape: byteLevelShape, ...options });
        const words = use_regex ? gpt2Words : unsplit;
        splits.push(add_prefix_space ? withSpaceBefore(words) : words);
        isByteLevel = true;
        break;
      }
      case "Metaspace": {
        if (parts.length > 1) return refuse("pre_tokenizer has Metaspace in a sequence");
        const read = shaped(part, { shape: metaspaceShape, ...options });
        const before = read.prepend_scheme ?? (read.add_prefix_space === false ? "never" : "always");
        metaspace = { space: read.replacement, before };
        if (read.split) splits.push(literalSplit(read.replacement, { behavior: "MergedWithNext", isInverted: false }));
        break;
      }
      default:
        return refuse(`pre_tokenizer is of the type ${quoted(part.type)}, which iota does not compute`);
    }
  }
  return { isByteLevel, metaspace, split: inSequence(splits) };
}

function splitOf(part: FilePart, refuse: Refuse): Split {
  const { pattern, behavior, invert } = shaped(part, { shape: splitShape, where: "pre_tokenizer Split", refuse });
  const options = { behavior, isInverted: invert };
  if ("String" in pattern) {
    return pattern.String === ""
      ? refuse("pre_tokenizer Split has an empty pattern")
      : literalSplit(pattern.String, options);
  }
  const read = splitPattern(pattern.Regex);
  return "pattern" in read
    ? splitAt(read.pattern, options)
    : refuse(`its split pattern ${quoted(pattern.Regex)} is not one that iota follows exactly: ${read.problem}`);
}

const literalSplit = (text: string, options: Parameters<typeof splitAt>[1]): Split =>
  splitAt(new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu"), options);

const withSpaceBefore = (words: Split): Split => (text, visit) =>
  words(text.startsWith(" ") ? text : ` ${text}`, visit);
