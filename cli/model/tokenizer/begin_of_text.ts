/**
 * Which tokens stand before a text that a model continues: those that transformers adds. Usually the post-processor of
 * `tokenizer.json` says it; the classes of a few models replace that by tokenizer_config.json's `add_bos_token`.
 *
 * What a template adds behind a text is left out, because the text goes on.
 */

import * as v from "valibot";
import { partsOf, quoted, type Refuse, shaped } from "./refusal.ts";
import { readSettings, spellingOf, tokenShape } from "./settings_file.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** `file`: what tokenizer.json says; otherwise tokens by their spelling. */
export type BeginOfText = "file" | readonly string[];

const configName = "tokenizer_config.json";
const configShape = v.looseObject({
  tokenizer_class: v.nullish(v.string()),
  add_bos_token: v.nullish(v.boolean()),
  bos_token: tokenShape,
});

/** Classes that go by `add_bos_token`, and what they do where it is not given. */
const classes: Readonly<Record<string, boolean>> = {
  Llama: true,
  CodeLlama: true,
  Gemma: true,
  Cohere: true,
  GPTNeoX: false,
};

/** As transformers reads a folder. */
export async function beginOfTextBeside(folder: string): Promise<BeginOfText> {
  const config = await readSettings(`${folder}/${configName}`, configShape);
  const usually = classes[config?.tokenizer_class?.replace(/Tokenizer(Fast)?$/, "") ?? ""];
  if (config === null || usually === undefined) return "file";
  const begin = spellingOf(config.bos_token);
  const isAdded = config.add_bos_token === undefined ? usually : config.add_bos_token === true;
  return isAdded && begin !== undefined ? [begin] : [];
}

const templateShape = v.looseObject({
  single: v.pipe(
    v.array(v.looseObject({ SpecialToken: v.optional(v.looseObject({ id: v.string() })) })),
    v.maxLength(64),
  ),
  special_tokens: v.record(v.string(), v.looseObject({ ids: v.array(v.number()) })),
});

export function beginOfTextOf(
  { ids, added }: Pick<Vocabulary, "ids" | "added">,
  { begin, postProcessor, refuse }: { begin: BeginOfText; postProcessor: unknown; refuse: Refuse },
): number[] {
  if (begin !== "file") {
    return begin.map((name) =>
      added.find(({ content }) => content === name)?.id ?? ids.get(name) ??
        refuse(`it begins a text with ${quoted(name)}, which is not one of its tokens`)
    );
  }
  const known = new Set([...ids.values(), ...added.map(({ id }) => id)]);
  const parts = partsOf(postProcessor, { member: "processors", where: "post_processor", refuse });
  return parts.filter(({ type }) => type === "TemplateProcessing").reverse().flatMap((part) => {
    const where = "post_processor TemplateProcessing";
    const { single, special_tokens } = shaped(part, { shape: templateShape, where, refuse });
    const end = single.findIndex(({ SpecialToken }) => SpecialToken === undefined);
    return single.slice(0, Math.max(0, end)).flatMap(({ SpecialToken }) => {
      const name = SpecialToken?.id ?? "";
      const found = Object.hasOwn(special_tokens, name) ? special_tokens[name]!.ids : [];
      if (found.length > 0 && found.every((id) => known.has(id))) return found;
      return refuse(`${where} begins a text with ${quoted(name)}, which is not one of its tokens`);
    });
  });
}
