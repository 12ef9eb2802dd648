/**
 * Which token ends a document. `tokenizer.json` does not say: tokenizer_config.json, special_tokens_map.json or config.json
 * beside it may, and otherwise it is the first well-known one.
 */

import * as v from "valibot";
import { readJsonFile } from "../../files/json_file.ts";
import { UserError } from "../../program/errors.ts";
import { quoted, type Refuse } from "./refusal.ts";
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

const token = v.nullish(v.union([v.string(), v.looseObject({ content: v.string() })]));
const namesShape = v.looseObject({ eos_token: token });
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const configShape = v.looseObject({ eos_token_id: v.nullish(v.union([id, v.pipe(v.array(id), v.minLength(1))])) });

/** What the files of a Hugging Face folder say; undefined: nothing. */
export async function endOfTextBeside(folder: string): Promise<NamedToken | undefined> {
  for (const name of ["tokenizer_config.json", "special_tokens_map.json"]) {
    const found = (await readShape(`${folder}/${name}`, namesShape))?.eos_token ?? undefined;
    if (found !== undefined) return typeof found === "string" ? found : found.content;
  }
  const ids = (await readShape(`${folder}/config.json`, configShape))?.eos_token_id ?? undefined;
  return Array.isArray(ids) ? ids[0] : ids;
}

async function readShape<Shape extends v.GenericSchema>(
  path: string,
  shape: Shape,
): Promise<v.InferOutput<Shape> | null> {
  const found = await readJsonFile(path, shape);
  if (found === null) return null;
  if ("value" in found) return found.value;
  throw new UserError(`'${path}' is damaged (${found.problem})`, { next: "Fetch the folder again" });
}
