/**
 * What a BPE vocabulary spells. Byte-level: each byte is a character of GPT-2's alphabet. Pieces (SentencePiece): characters
 * are themselves, spaces are `▁`, and what has no token is its bytes, `<0x0A>`, if the file says so.
 */

import * as v from "valibot";
import { readSpelling, spellBytes } from "../../../core/tokenizer/byte_alphabet.ts";
import { byteTokens } from "../../../core/tokenizer/bpe_model.ts";
import type { BpeParts } from "../../../core/tokenizer/bpe.ts";
import { inSequence, type Split, splitAt } from "../../../core/tokenizer/splits.ts";
import { partsOf, quoted, type Refuse, shaped } from "./refusal.ts";
import type { SplitSteps } from "./split_steps.ts";

export interface Spelling extends Pick<BpeParts, "symbolsOf" | "begin" | "split" | "hasSpaceBefore"> {
  bytesOf(spelling: string): Uint8Array;
  /** The text that makes exactly this token; null: none. */
  wordOf(spelling: string): string | null;
}

export interface SpellingSource {
  readonly ids: ReadonlyMap<string, number>;
  /** For text without a token; undefined: it vanishes, as at Hugging Face. */
  readonly unknown: number | undefined;
  readonly joinsUnknown: boolean; // several in a row are one
  readonly usesBytes: boolean; // byte_fallback
  readonly hasWords: boolean; // ignore_merges: a whole piece may be a token
  readonly endOfText: number;
  readonly steps: SplitSteps;
  readonly decoder: unknown;
  readonly refuse: Refuse;
}

const encoder = new TextEncoder();

/** Bytes that UTF-8 never has. */
const isUnused = (byte: number): boolean => byte === 0xc0 || byte === 0xc1 || byte > 0xf4;

export function byteLevelSpelling(source: SpellingSource): Spelling {
  const { ids, unknown, joinsUnknown, steps, decoder, refuse } = source;
  const parts = partsOf(decoder, { member: "decoders", where: "decoder", refuse });
  if (!parts.some(({ type }) => type === "ByteLevel")) refuse("its decoder must be ByteLevel, as its pre_tokenizer is");
  const symbols = Array.from({ length: byteTokens }, (_, byte) => ids.get(spellBytes(Uint8Array.of(byte))));
  const isComplete = symbols.every((id, byte) => id !== undefined || isUnused(byte));
  if (!isComplete) mustNotEnd(source);
  return {
    ...{ begin: (text) => text, split: steps.split, hasSpaceBefore: false },
    symbolsOf(word) {
      const bytes = encoder.encode(word);
      if (isComplete) return Array.from(bytes, (byte) => symbols[byte]!);
      return withUnknown(Array.from(bytes, (byte) => symbols[byte]), { unknown, joinsUnknown });
    },
    bytesOf: (spelling) => readSpelling(spelling) ?? encoder.encode(spelling),
    wordOf(spelling) {
      const bytes = readSpelling(spelling);
      if (bytes === null) return null;
      const word = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      return word.includes("\ufffd") && spellBytes(encoder.encode(word)) !== spelling ? null : word;
    },
  };
}

export function pieceSpelling(source: SpellingSource & { readonly made: readonly string[] }): Spelling {
  const { ids, unknown, joinsUnknown, usesBytes, steps, made, refuse } = source;
  const mergesInWords = ids.has("▁") && !source.hasWords && made.every((spelling) => !/[^▁]▁/.test(spelling));
  const decoded = readPieceDecoder(source.decoder, refuse);
  const bytes = Array.from({ length: byteTokens }, (_, byte) => ids.get(nameOfByte(byte)));
  const isComplete = usesBytes && bytes.every((id, byte) => id !== undefined || isUnused(byte));
  if (!isComplete) mustNotEnd(source);
  const fallback = (character: string): (number | undefined)[] => {
    const own = usesBytes ? Array.from(encoder.encode(character), (byte) => bytes[byte]) : [undefined];
    return own.includes(undefined) ? [undefined] : own;
  };
  return {
    symbolsOf(word) {
      const symbols: (number | undefined)[] = [];
      for (const character of word) {
        const id = ids.get(character);
        if (id === undefined) symbols.push(...fallback(character));
        else symbols.push(id);
      }
      return withUnknown(symbols, { unknown, joinsUnknown });
    },
    begin: beginOf(steps),
    split: mergesInWords ? inSequence([steps.split, spacedWords]) : steps.split,
    hasSpaceBefore: decoded.hasSpaceBefore,
    bytesOf(spelling) {
      const byte = decoded.readsBytes ? /^<0x([0-9A-F]{2})>$/.exec(spelling)?.[1] : undefined;
      if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
      return encoder.encode(decoded.space === null ? spelling : spelling.replaceAll(decoded.space, " "));
    },
    wordOf: (spelling) => spelling,
  };
}

/** Where no merge makes a token that has `▁` behind another character, words merge alone. */
const spacedWords: Split = splitAt(/▁*[^▁]+|▁+/gu, { behavior: "Isolated", isInverted: false });

const nameOfByte = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

function mustNotEnd({ unknown, endOfText, refuse }: SpellingSource): void {
  if (unknown === endOfText) refuse("it has no token for some text, which would end a document: unk_token is the end");
}

function withUnknown(
  symbols: readonly (number | undefined)[],
  { unknown, joinsUnknown }: { unknown: number | undefined; joinsUnknown: boolean },
): number[] {
  const ids: number[] = [];
  for (const [i, id] of symbols.entries()) {
    if (id !== undefined) ids.push(id);
    else if (unknown !== undefined && !(joinsUnknown && i > 0 && symbols[i - 1] === undefined)) ids.push(unknown);
  }
  return ids;
}

function beginOf({ metaspace }: SplitSteps): Spelling["begin"] {
  if (metaspace === null) return (text) => text;
  const { space, before } = metaspace;
  return (text, isFirst) => {
    const spaced = text.replaceAll(" ", space);
    const isBegun = before === "never" || (before === "first" && !isFirst) || spaced.startsWith(space);
    return isBegun ? spaced : space + spaced;
  };
}

interface PieceDecoder {
  readonly space: string | null; // stands for a space
  readonly readsBytes: boolean;
  readonly hasSpaceBefore: boolean;
}

const spaceShape = v.looseObject({ pattern: v.object({ String: v.string() }), content: v.literal(" ") });
const stripShape = v.looseObject({ content: v.literal(" "), start: v.picklist([0, 1]), stop: v.literal(0) });
const metaspaceShape = v.looseObject({
  replacement: v.string(),
  prepend_scheme: v.optional(v.string()),
  add_prefix_space: v.optional(v.boolean()),
});

function readPieceDecoder(value: unknown, refuse: Refuse): PieceDecoder {
  let found: PieceDecoder = { space: null, readsBytes: false, hasSpaceBefore: false };
  const parts = partsOf(value, { member: "decoders", where: "decoder", refuse });
  if (parts.length === 0) refuse("it has no decoder, so that decoding would put spaces between all tokens");
  for (const part of parts) {
    const options = { where: `decoder ${part.type}`, refuse };
    switch (part.type) {
      case "Replace":
        found = { ...found, space: shaped(part, { shape: spaceShape, ...options }).pattern.String };
        break;
      case "ByteFallback":
        found = { ...found, readsBytes: true };
        break;
      case "Fuse":
        break;
      case "Strip":
        found = { ...found, hasSpaceBefore: shaped(part, { shape: stripShape, ...options }).start === 1 };
        break;
      case "Metaspace": {
        const read = shaped(part, { shape: metaspaceShape, ...options });
        const isAdded = read.prepend_scheme === undefined
          ? read.add_prefix_space !== false
          : read.prepend_scheme !== "never";
        found = { ...found, space: read.replacement, hasSpaceBefore: isAdded };
        break;
      }
      default:
        return refuse(`decoder is of the type ${quoted(part.type)}, which iota does not compute`);
    }
  }
  return found;
}
