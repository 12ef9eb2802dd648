/** What transformers reads beside tokenizer.json: which token ends a text, and how generation begins. */

import type { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import { endOfTextToken } from "../../../core/tokenizer/words.ts";

/** JSON files by name. A document begins behind the end of another, so one token is both (bpe_model.ts). */
export function tokenizerFiles(
  { endOfText }: Pick<Tokenizer, "endOfText">,
  { contextLength }: { contextLength: number }, // tokens
): Record<string, object> {
  const special = { bos_token: endOfTextToken, eos_token: endOfTextToken, pad_token: endOfTextToken };
  return {
    "tokenizer_config.json": {
      ...special,
      tokenizer_class: "PreTrainedTokenizerFast",
      model_max_length: contextLength,
      clean_up_tokenization_spaces: false,
      added_tokens_decoder: {
        [endOfText]: {
          ...{ content: endOfTextToken, special: true },
          ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
        },
      },
    },
    "special_tokens_map.json": special,
    "generation_config.json": {
      ...{ bos_token_id: endOfText, eos_token_id: endOfText, pad_token_id: endOfText },
      ...{ do_sample: true, temperature: 0.8, top_k: 40 }, // as iota generate
    },
  };
}
