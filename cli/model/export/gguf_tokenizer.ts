/**
 * A tokenizer in a GGUF file. llama.cpp splits words with code of its own for each kind of tokenizer (`tokenizer.ggml.pre`),
 * so only kinds whose split it has exactly are written. It does not normalize text: accents that a text writes as
 * characters of their own get other ids there with Qwen's.
 */

import { startOf } from "../../../core/tokenizer/tokenizer.ts";
import { UserError } from "../../program/errors.ts";
import type { ModelSource } from "../source/model_source.ts";
import { readTokenizerFile, type TokenizerFile } from "../tokenizer/parse_tokenizer.ts";
import { partsOf, type Refuse } from "../tokenizer/refusal.ts";
import { readVocabulary } from "../tokenizer/vocabulary.ts";

export interface GgufTokens {
  readonly pre: string;
  readonly tokens: readonly string[]; // by id
  readonly types: readonly number[]; // of llama_token_type
  readonly merges: readonly string[];
  readonly begin: number;
  readonly end: number;
  readonly addsBegin: boolean;
  readonly chatTemplate: string | null;
}

const normalToken = 1, controlToken = 3, ownToken = 4, unusedToken = 5;

export interface GgufTokenSource extends Pick<ModelSource, "tokenizer" | "tokenizerFile" | "chat"> {
  /** The model's, which may have rows beyond the tokenizer's ids: they get names that no text has. */
  readonly vocabSize: number;
}

export function ggufTokens({ tokenizer, tokenizerFile, chat, vocabSize }: GgufTokenSource): GgufTokens {
  const file = readTokenizerFile(tokenizerFile, refuse);
  const { vocab, merges } = file.model;
  const { spellings, added } = readVocabulary({ vocab, added: file.added_tokens }, refuse);
  const pre = preOf(file);
  const addedById = new Map(added.map((token) => [token.id, token]));
  const types = Array.from({ length: vocabSize }, (_, id) => {
    const token = addedById.get(id);
    if (token !== undefined) return token.isSpecial || id === tokenizer.endOfText ? controlToken : ownToken;
    return spellings[id] === undefined ? unusedToken : normalToken;
  });
  let unused = 0;
  return {
    ...{ pre, types },
    tokens: types.map((_, id) => spellings[id] ?? `[unused ${unused++}]`),
    merges: (merges as (string | [string, string])[]).map((merge) =>
      typeof merge === "string" ? merge : merge.join(" ")
    ),
    begin: startOf(tokenizer)[0]!,
    end: tokenizer.endOfText,
    chatTemplate: chat?.text ?? null,
    addsBegin: tokenizer.beginOfText.length > 0,
  };
}

const refuse: Refuse = (reason) => {
  throw new UserError(`GGUF cannot hold this model's tokenizer: ${reason}`, {
    next: "Export it for transformers, without --gguf",
  });
};

const ofLlama3 = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` +
  String.raw`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const ofQwen2 = ofLlama3.replace("{1,3}", "");

interface GgufKind {
  readonly splits: string; // as `splitsOf` writes them
  readonly normalizers: readonly string[];
  readonly ignoresMerges: boolean;
}

const kinds: Readonly<Record<string, GgufKind>> = {
  "gpt-2": { splits: "words", normalizers: [""], ignoresMerges: false },
  "llama-bpe": { splits: `split ${ofLlama3} bytes`, normalizers: [""], ignoresMerges: true },
  "qwen2": { splits: `split ${ofQwen2} bytes`, normalizers: ["", "NFC"], ignoresMerges: false },
  "smollm": { splits: "digits words", normalizers: [""], ignoresMerges: false },
};

function preOf(file: TokenizerFile): string {
  const splits = splitsOf(file);
  const normalizer = partsOf(file.normalizer, { member: "normalizers", where: "normalizer", refuse })
    .map(({ type }) => type).join(" ");
  const ignoresMerges = file.model.ignore_merges === true;
  const found = Object.entries(kinds).find(([, kind]) =>
    kind.splits === splits && kind.normalizers.includes(normalizer) && kind.ignoresMerges === ignoresMerges
  );
  return found?.[0] ?? refuse(`llama.cpp splits words as ${Object.keys(kinds).join(", ")} do, and this one differs`);
}

function splitsOf(file: TokenizerFile): string {
  const parts = partsOf(file.pre_tokenizer, { member: "pretokenizers", where: "pre_tokenizer", refuse });
  return parts.map(({ type, ...part }) => {
    if (type === "ByteLevel" && part.add_prefix_space === false) return part.use_regex === false ? "bytes" : "words";
    if (type === "Digits" && part.individual_digits === true) return "digits";
    const pattern = part.pattern as { Regex?: string } | undefined;
    const isPlain = type === "Split" && part.behavior === "Isolated" && part.invert !== true;
    return isPlain && pattern?.Regex !== undefined ? `split ${pattern.Regex}` : `other ${type}`;
  }).join(" ");
}
