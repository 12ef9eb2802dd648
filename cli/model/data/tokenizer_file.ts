/**
 * A dataset's tokenizer as a Hugging Face `tokenizer.json`, which Python's `tokenizers` loads. The one that this program
 * trains is written here; any can be read.
 */

import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { TrainedTokenizer } from "../../../core/tokenizer/trained_tokenizer.ts";
import { spellBytes } from "../../../core/tokenizer/byte_alphabet.ts";
import { endOfTextToken } from "../../../core/tokenizer/words.ts";
import { UserError } from "../../program/errors.ts";
import { sha256Hex } from "../../files/file_entry.ts";
import { parseTokenizer, readTokenizerBytes } from "../tokenizer/parse_tokenizer.ts";

/** The same tokenizer always gives the same bytes. */
export function formatTokenizer(tokenizer: TrainedTokenizer): string {
  const spelling = (id: number) => spellBytes(tokenizer.bytesOf(id));
  const vocab = Object.fromEntries(
    Array.from({ length: tokenizer.endOfText }, (_, id): [string, number] => [spelling(id), id])
      .concat([[endOfTextToken, tokenizer.endOfText]]),
  );
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  const file = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [{
      id: tokenizer.endOfText,
      content: endOfTextToken,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    }],
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges: tokenizer.model.merges.map(([left, right]) => `${spelling(left)} ${spelling(right)}`),
    },
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

export interface OpenTokenizer {
  readonly tokenizer: Tokenizer;
  readonly tokenizerFile: Uint8Array; // as it was read
}

/** `endOfText`: its id, where the file alone does not say it. */
export async function openTokenizer(
  path: string,
  { sha256, endOfText }: { sha256: string; endOfText?: number | undefined },
): Promise<OpenTokenizer> {
  const tokenizerFile = await readTokenizerBytes(path);
  mustBeTokenizerOf(path, { wanted: sha256, found: sha256Hex(tokenizerFile) });
  return { tokenizer: parseTokenizer(tokenizerFile, { path, endOfText }), tokenizerFile };
}

export function openTrained(tokenizer: TrainedTokenizer): OpenTokenizer {
  return { tokenizer, tokenizerFile: new TextEncoder().encode(formatTokenizer(tokenizer)) };
}

/** With another run's tokenizer, the model would read and write other words than those it learned. */
export function mustBeTokenizerOf(path: string, { wanted, found }: { wanted: string; found: string }): void {
  if (wanted === found) return;
  throw new UserError(
    `The tokenizer '${path}' is not the one that the run was trained with: its hash is ${found}, ` +
      `the run's is ${wanted}`,
    { next: "Put the run's own dataset folder back from a copy" },
  );
}
