/**
 * Any `tokenizer.json` of Hugging Face's tokenizers with a BPE model: byte-level as GPT-2, Llama 3 or Qwen have it, and
 * SentencePiece's kind with spaces as `▁`, as Llama 2, Mistral and Gemma have it. Ids are those that Python's
 * `tokenizers` gives with `encode_special_tokens = True`; what its post-processor adds is `beginOfText`.
 *
 * The file is a stranger's: what cannot be followed exactly is refused with its place.
 */

import * as v from "valibot";
import { BpeTokenizer } from "../../../core/tokenizer/bpe.ts";
import { type Merge, PairTable } from "../../../core/tokenizer/pair_table.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { attempting } from "../../program/errors.ts";
import { type BeginOfText, beginOfTextOf } from "./begin_of_text.ts";
import { endOfTextOf, type NamedToken } from "./end_of_text.ts";
import { readNormalizer } from "./normalizers.ts";
import { quoted, type Refuse, refuseFile, shaped } from "./refusal.ts";
import { byteLevelSpelling, pieceSpelling, type Spelling, type SpellingSource } from "./spellings.ts";
import { readSplits } from "./split_steps.ts";
import { readMerges, readVocabulary, type Vocabulary } from "./vocabulary.ts";

export interface TokenizerOrigin {
  readonly path: string;
  /** Which token ends a document. @default the first well-known one (end_of_text.ts) */
  readonly endOfText?: NamedToken | undefined;
  /** What stands before a text (begin_of_text.ts). @default nothing, as in documents of a dataset */
  readonly beginOfText?: BeginOfText;
}

const anything = v.optional(v.unknown()); // read by other files here
const affix = v.nullish(v.literal("", "is not computed by iota"));
const modelShape = v.looseObject({
  type: v.string(),
  dropout: v.nullish(v.literal(0, "a dropout gives other ids every time")),
  unk_token: v.nullish(v.string()),
  continuing_subword_prefix: affix,
  end_of_word_suffix: affix,
  ...{ fuse_unk: v.nullish(v.boolean()), byte_fallback: v.nullish(v.boolean()), ignore_merges: v.nullish(v.boolean()) },
  ...{ vocab: anything, merges: anything },
});
const fileShape = v.looseObject({
  ...{ model: v.looseObject({ type: v.string() }), added_tokens: anything, decoder: anything },
  ...{ normalizer: anything, pre_tokenizer: anything, post_processor: anything },
});

export type TokenizerFile = v.InferOutput<typeof fileShape>;

const mostBytes = 200_000_000;

export async function readTokenizerBytes(path: string): Promise<Uint8Array> {
  const attempt = { action: "read the tokenizer", value: path };
  const { size } = await attempting(attempt, () => Deno.stat(path));
  if (size > mostBytes) refuseFile(path)(`it has ${size} bytes, of at most ${mostBytes}`);
  return await attempting(attempt, () => Deno.readFile(path));
}

export function readTokenizerFile(bytes: Uint8Array, refuse: Refuse): TokenizerFile {
  const text = new TextDecoder().decode(bytes);
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), text);
  return json.success ? shaped(json.output, { shape: fileShape, where: "the file", refuse }) : refuse("it is not JSON");
}

export function parseTokenizer(bytes: Uint8Array, origin: TokenizerOrigin): Tokenizer {
  const refuse = refuseFile(origin.path);
  const file = readTokenizerFile(bytes, refuse);
  const { type } = file.model;
  if (type !== "BPE") {
    return refuse(
      `its model is of the type ${quoted(type)}, and iota computes BPE`,
      "Use a model with a BPE tokenizer, as GPT-2, Llama, Mistral, Qwen and Gemma have it",
    );
  }
  const model = shaped(file.model, { shape: modelShape, where: "model", refuse });
  const { vocab, merges } = model;
  const vocabulary = readVocabulary({ vocab, added: file.added_tokens }, refuse);
  const { spellings, ids, added } = vocabulary;
  const endOfText = endOfTextOf(vocabulary, { named: origin.endOfText, refuse });
  const hidden = added.map((token) => token.id === endOfText ? { ...token, isSpecial: true } : token);
  const barred = new Set(hidden.filter(({ isSpecial }) => isSpecial).map(({ id }) => id));
  const normalize = readNormalizer(file.normalizer, refuse);
  const known = readMerges(merges, { ids, barred, refuse });
  const spelling = spellingOf(model, { file, vocabulary, merges: known, endOfText, refuse });
  const contents = new Map(added.map(({ id, content }) => [id, content]));
  const normal = hidden.filter(({ isNormal }) => isNormal)
    .map((token) => ({ ...token, content: normalize(token.content) })).filter(({ content }) => content !== "");
  return new BpeTokenizer({
    ...{ endOfText, normalize, ...spelling },
    beginOfText: beginOfTextOf(vocabulary, {
      begin: origin.beginOfText ?? [],
      postProcessor: file.post_processor,
      refuse,
    }),
    tokens: spellings.map((written, id) => {
      const content = contents.get(id);
      if (content !== undefined) return new TextEncoder().encode(content);
      return written === undefined ? undefined : spelling.bytesOf(written);
    }),
    pairs: new PairTable(known),
    words: new Map(model.ignore_merges ? wordsOf(ids, { barred, spelling }) : []),
    added: hidden.filter(({ isNormal }) => !isNormal),
    addedNormal: normal,
  });
}

interface SpelledFile {
  readonly file: TokenizerFile;
  readonly vocabulary: Vocabulary;
  readonly merges: readonly Merge[];
  readonly endOfText: number;
  readonly refuse: Refuse;
}

function spellingOf(
  { unk_token, fuse_unk, byte_fallback, ignore_merges }: v.InferOutput<typeof modelShape>,
  { file, vocabulary: { ids, spellings }, merges, endOfText, refuse }: SpelledFile,
): Spelling {
  const unknown = unk_token === null || unk_token === undefined
    ? undefined
    : ids.get(unk_token) ?? refuse(`model.unk_token is ${quoted(unk_token)}, which is not in its vocabulary`);
  const steps = readSplits(file.pre_tokenizer, refuse);
  const source: SpellingSource = {
    ...{ ids, unknown, joinsUnknown: fuse_unk ?? false, usesBytes: byte_fallback ?? false },
    ...{ hasWords: ignore_merges ?? false, endOfText, steps, decoder: file.decoder, refuse },
  };
  if (!steps.isByteLevel) return pieceSpelling({ ...source, made: merges.map(({ made }) => spellings[made]!) });
  if (source.usesBytes) return refuse("it has both ByteLevel and byte_fallback, whose bytes are spelled differently");
  return byteLevelSpelling(source);
}

function* wordsOf(
  ids: ReadonlyMap<string, number>,
  { barred, spelling }: { barred: ReadonlySet<number>; spelling: Spelling },
): Generator<[string, number]> {
  for (const [written, id] of ids) {
    const word = barred.has(id) ? null : spelling.wordOf(written);
    if (word !== null) yield [word, id];
  }
}
