/**
 * Which token ends a document. `tokenizer.json` does not say: tokenizer_config.json, special_tokens_map.json or config.json
 * beside it may, and otherwise it is the first well-known one.
 */

import * as v from "valibot";
import { quoted, type Refuse } from "./refusal.ts";
import { readSettings, spellingOf, tokenShape } from "./settings_file.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** By its spelling or its id. */
export type NamedToken = string | number;

export const wellKnownEnds: readonly string[] = [
  ...["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>", "<|im_end|>", "<|eot_id|>"],
];

/** Its id. Only an added token can be it: others are what text is made of. */
export function endOfTextOf(
  { added }: Pick<Vocabulary, "added">,
  { named, refuse }: { named: NamedToken | undefined; refuse: Refuse },
): number {
  const next = 'Say it in tokenizer_config.json beside the file: {"eos_token": "…"}, with one of its added tokens';
  if (named !== undefined) {
    const found = added.find(({ content, id }) => content === named || id === named);
    return found?.id ?? refuse(`no added token is ${quoted(String(named))}, which should end a document`, next);
  }
  const known = wellKnownEnds.flatMap((name) => added.find(({ content }) => content === name) ?? []);
  return known[0]?.id ??
    refuse(`it does not say which token ends a document, and none of its added tokens is a well-known one`, next);
}

const namesShape = v.looseObject({ eos_token: tokenShape });
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const idsShape = v.looseObject({ eos_token_id: v.nullish(v.union([id, v.pipe(v.array(id), v.maxLength(64))])) });

/** What the files of a Hugging Face folder say; undefined: nothing. */
export async function endOfTextBeside(folder: string): Promise<NamedToken | undefined> {
  for (const name of ["tokenizer_config.json", "special_tokens_map.json"]) {
    const found = spellingOf((await readSettings(`${folder}/${name}`, namesShape))?.eos_token);
    if (found !== undefined) return found;
  }
  return (await endsIn(`${folder}/config.json`))?.[0];
}

/** Ids that end what a model says, beside the end of a document: a chat model ends its turn with a token of its own. */
export async function endsBeside(folder: string): Promise<readonly number[]> {
  return await endsIn(`${folder}/generation_config.json`) ?? await endsIn(`${folder}/config.json`) ?? [];
}

async function endsIn(path: string): Promise<readonly number[] | null> {
  const ids = (await readSettings(path, idsShape))?.eos_token_id ?? null;
  return ids === null ? null : [ids].flat();
}
