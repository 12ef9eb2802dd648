/** What transformers reads beside tokenizer.json: which token ends a text, and how generation begins. */

import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";

/**
 * JSON files by name. A document begins behind the end of another, so one token is both.
 *
 * `hidesBegin`: tokenizer.json would put a token before every text, which the model has never seen there. The class that
 * transformers then gets goes by `add_bos_token` instead.
 */
export function tokenizerFiles(
  tokenizer: Tokenizer,
  { contextLength, hidesBegin }: { contextLength: number; hidesBegin: boolean }, // contextLength: tokens
): Record<string, object> {
  const { endOfText } = tokenizer;
  const name = new TextDecoder().decode(tokenizer.bytesOf(endOfText));
  const special = { bos_token: name, eos_token: name, pad_token: name };
  return {
    "tokenizer_config.json": {
      ...special,
      ...(hidesBegin
        ? { tokenizer_class: "LlamaTokenizerFast", add_bos_token: false }
        : { tokenizer_class: "PreTrainedTokenizerFast" }),
      model_max_length: contextLength,
      clean_up_tokenization_spaces: false,
    },
    "special_tokens_map.json": special,
    "generation_config.json": {
      ...{ bos_token_id: endOfText, eos_token_id: endOfText, pad_token_id: endOfText },
      ...{ do_sample: true, temperature: 0.8, top_k: 40 }, // as iota generate
    },
  };
}
