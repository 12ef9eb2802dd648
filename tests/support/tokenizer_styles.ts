/** Small tokenizers in the styles of well-known models with what Python's tokenizers makes of texts (make_styles.py). */

import { parseTokenizer } from "../../cli/model/tokenizer/parse_tokenizer.ts";
import type { Tokenizer } from "../../core/tokenizer/tokenizer.ts";

export interface TokenizerStyle {
  readonly name: string;
  readonly file: Record<string, unknown>; // tokenizer.json
  readonly ids: readonly string[]; // by text, with spaces between
  readonly decoded: Readonly<Record<number, string>>; // where it is not the text
  readonly tokenizer: Tokenizer;
}

const [texts, ...styles] = Deno.readTextFileSync(new URL("../vectors/tokenizer/styles.jsonl", import.meta.url))
  .trim().split("\n").map((line) => JSON.parse(line));

export const goldenTexts = (): readonly string[] => texts.texts;

export const tokenizerStyles = (): TokenizerStyle[] =>
  styles.map((style) => ({
    ...style,
    tokenizer: parseTokenizer(bytesOfJson(style.file), { path: style.name, beginOfText: "file" }),
  }));

export const styleNamed = (name: string): TokenizerStyle => tokenizerStyles().find((style) => style.name === name)!;

export const bytesOfJson = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
