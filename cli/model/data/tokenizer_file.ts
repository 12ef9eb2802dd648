/**
 * A tokenizer as a Hugging Face `tokenizer.json`, which Python's `tokenizers` and `@huggingface/tokenizers` load.
 *
 * Reads only our own layout (bpe_model.ts): ids 0–255 are the bytes, merge i has id 256 + i, the last id is
 * `<|endoftext|>`. Anything else is refused with the first difference.
 */

import * as v from "valibot";
import { type BpeModel, byteTokens } from "../../../core/tokenizer/bpe_model.ts";
import { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import { readSpelling, spellBytes } from "../../../core/tokenizer/byte_alphabet.ts";
import { endOfTextToken } from "../../../core/tokenizer/words.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { sha256Hex } from "../../files/file_entry.ts";

const fileShape = v.object({
  added_tokens: v.tuple([v.object({ id: v.number(), content: v.literal(endOfTextToken) })]),
  normalizer: v.null(),
  pre_tokenizer: v.object({
    type: v.literal("ByteLevel"),
    add_prefix_space: v.literal(false),
    use_regex: v.literal(true),
  }),
  model: v.object({
    type: v.literal("BPE"),
    vocab: v.record(v.string(), v.number()),
    merges: v.array(v.string()),
  }),
});

/** The same tokenizer always gives the same bytes. */
export function formatTokenizer(tokenizer: Tokenizer): string {
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

export async function readTokenizer(path: string, sha256: string): Promise<Tokenizer> {
  const bytes = await attempting({ action: "read the tokenizer", value: path }, () => Deno.readFile(path));
  mustBeTokenizerOf(path, { wanted: sha256, found: sha256Hex(bytes) });
  return parseTokenizer(new TextDecoder().decode(bytes), path);
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

export function parseTokenizer(text: string, path: string): Tokenizer {
  const refuse = (reason: string): never => {
    throw new UserError(`'${path}' is not a tokenizer that iota wrote: ${reason}`, {
      next: "Remove the file to have it created again",
    });
  };
  const shaped = v.safeParse(v.pipe(v.string(), v.parseJson(), fileShape), text);
  if (!shaped.success) {
    const issue = shaped.issues[0];
    return refuse(`${v.getDotPath(issue) ?? "the file"}: ${issue.message}`);
  }
  const { vocab, merges } = shaped.output.model;
  const idOf = (spelling: string): number => {
    const id = vocab[spelling];
    return id !== undefined && readSpelling(spelling) !== null
      ? id
      : refuse(`'${spelling}' is not a token of its vocabulary`);
  };
  const model: BpeModel = {
    merges: merges.map((merge, index): [number, number] => {
      const [left, right, ...rest] = merge.split(" ");
      if (left === undefined || right === undefined || rest.length > 0) return refuse(`merge ${index} is '${merge}'`);
      const pair: [number, number] = [idOf(left), idOf(right)];
      if (idOf(left + right) !== byteTokens + index) {
        return refuse(`merge ${index} does not make id ${byteTokens + index}`);
      }
      if (Math.max(...pair) >= byteTokens + index) return refuse(`merge ${index} uses a token that does not exist yet`);
      return pair;
    }),
  };
  const tokenizer = new Tokenizer(model);
  if (Object.keys(vocab).length !== tokenizer.vocabSize || shaped.output.added_tokens[0].id !== tokenizer.endOfText) {
    return refuse(`its vocabulary must have ${tokenizer.vocabSize} tokens, the last one ${endOfTextToken}`);
  }
  for (let byte = 0; byte < byteTokens; byte++) {
    if (vocab[spellBytes(Uint8Array.of(byte))] !== byte) return refuse(`byte ${byte} does not have id ${byte}`);
  }
  return tokenizer;
}
