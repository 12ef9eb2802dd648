/** Tokens, merges and added tokens of a `tokenizer.json`, checked: each id is one token's, and each merge makes a token. */

import * as v from "valibot";
import type { AddedToken } from "../../../core/tokenizer/added_tokens.ts";
import { idLimit } from "../../../core/tokenizer/bpe_model.ts";
import type { Merge } from "../../../core/tokenizer/pair_table.ts";
import { quoted, type Refuse, shaped } from "./refusal.ts";

export interface Vocabulary {
  readonly spellings: readonly (string | undefined)[]; // by id, as the file spells them; undefined: a hole
  readonly ids: ReadonlyMap<string, number>; // of the model's own tokens
  readonly added: readonly (AddedToken & { readonly isNormal: boolean })[]; // isNormal: found in normalized text
}

const longestAdded = 1024; // characters
const mostAdded = 2 ** 18; // characters of all

const flag = v.optional(v.boolean(), false);
const addedShape = v.array(v.object({
  id: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(idLimit - 1)),
  content: v.pipe(v.string(), v.maxLength(longestAdded)),
  ...{ single_word: flag, lstrip: flag, rstrip: flag, normalized: flag, special: flag },
}));

export function readVocabulary(
  file: { readonly vocab: unknown; readonly added: unknown },
  refuse: Refuse,
): Vocabulary {
  const ids = readIds(file.vocab, refuse);
  const spellings: (string | undefined)[] = [];
  const place = (spelling: string, id: number) => {
    const other = spellings[id];
    if (other !== undefined && other !== spelling) {
      refuse(`id ${id} is that of two tokens, ${quoted(other)} and ${quoted(spelling)}`);
    }
    spellings[id] = spelling;
  };
  for (const [spelling, id] of ids) place(spelling, id);
  const listed = shaped(file.added ?? [], { shape: addedShape, where: "added_tokens", refuse });
  const characters = listed.reduce((sum, { content }) => sum + content.length, 0);
  if (characters > mostAdded) refuse(`its added tokens have ${characters} characters, of at most ${mostAdded}`);
  const added = new Map<string, Vocabulary["added"][number]>();
  for (const { id, content, special, normalized, single_word, lstrip, rstrip } of listed) {
    const known = ids.get(content) ?? added.get(content)?.id ?? id;
    if (known !== id) refuse(`the added token ${quoted(content)} has the ids ${known} and ${id}`);
    if (content === "") continue;
    place(content, id);
    added.set(content, {
      ...{ id, content, isSpecial: special, isNormal: normalized },
      ...{ isWord: single_word, takesSpaceBefore: lstrip, takesSpaceBehind: rstrip },
    });
  }
  return { spellings: Array.from(spellings), ids, added: [...added.values()] };
}

function readIds(vocab: unknown, refuse: Refuse): Map<string, number> {
  if (typeof vocab !== "object" || vocab === null || Array.isArray(vocab)) {
    return refuse("model.vocab is not a list of tokens with their ids");
  }
  const ids = new Map<string, number>();
  for (const [spelling, id] of Object.entries(vocab)) {
    if (!Number.isInteger(id) || id < 0 || id >= idLimit) {
      const found = typeof id === "object" ? "an object" : quoted(String(id));
      refuse(`the id of ${quoted(spelling)} must be a whole number below ${idLimit}, and is ${found}`);
    }
    ids.set(spelling, id);
  }
  return ids.size > 0 ? ids : refuse("model.vocab is empty");
}

/** `barred`: ids that no merge may make, because text cannot forge them. */
export function readMerges(
  merges: unknown,
  { ids, barred, refuse }: { ids: ReadonlyMap<string, number>; barred: ReadonlySet<number>; refuse: Refuse },
): Merge[] {
  if (!Array.isArray(merges)) return refuse("model.merges is not a list");
  if (merges.length >= idLimit) return refuse(`it has ${merges.length} merges, of at most ${idLimit - 1}`);
  const found: Merge[] = [];
  for (const [i, merge] of merges.entries()) {
    const [first, second, ...rest]: unknown[] = typeof merge === "string"
      ? merge.split(" ")
      : Array.isArray(merge)
      ? merge
      : [];
    if (typeof first !== "string" || typeof second !== "string" || rest.length > 0) {
      return refuse(`merge ${i} is not a pair of tokens${typeof merge === "string" ? `: ${quoted(merge)}` : ""}`);
    }
    const [left, right, made] = [ids.get(first), ids.get(second), ids.get(first + second)];
    if (left === undefined || right === undefined || made === undefined) {
      const missing = left === undefined ? first : right === undefined ? second : first + second;
      return refuse(`merge ${i} needs the token ${quoted(missing)}, which is not in its vocabulary`);
    }
    if (!barred.has(made)) found.push({ left, right, made });
  }
  return found;
}
