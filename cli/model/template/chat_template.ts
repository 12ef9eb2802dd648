/**
 * A conversation as a model's tokens, by the chat template that came with its tokenizer: tokenizer_config.json's
 * `chat_template`, or chat_template.jinja beside it. Ids are those of transformers' `apply_chat_template`, except that no
 * content forges a special token (marked_text.ts).
 */

import * as v from "valibot";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { readSettings, readSettingsBytes, spellingOf, tokenShape } from "../tokenizer/settings_file.ts";
import { BoundedTemplate, TemplateProblem } from "./bounded_template.ts";
import { freeMark, markedText } from "./marked_text.ts";

export const roles = ["system", "developer", "user", "assistant", "tool"] as const;

export interface Message {
  readonly role: typeof roles[number];
  readonly content: string;
}

interface ChatTemplateFiles {
  readonly path: string; // of the file with the template
  readonly text: string;
  /** `bos_token`, `eos_token` and their like, for the template. */
  readonly tokens: Readonly<Record<string, string>>;
}

interface Rendering {
  readonly tokenizer: Tokenizer;
  /** The model speaks next. */
  readonly goesOn: boolean;
  readonly date: Date;
}

export class ChatTemplate {
  readonly #files: ChatTemplateFiles;
  #template: BoundedTemplate | null = null;

  constructor(files: ChatTemplateFiles) {
    this.#files = files;
  }

  get text(): string {
    return this.#files.text;
  }

  /** Throws a `TemplateProblem` if the template is not one, or refuses these messages. */
  encode(messages: readonly Message[], { tokenizer, ...rendering }: Rendering): number[] {
    const { path, text } = this.#files;
    const mark = freeMark([text, ...messages.map(({ content }) => content)]);
    const spellings = [...tokenizer.special.keys()];
    const marked = messages.map(({ role, content }) => ({ role, content: markedText(content, { mark, spellings }) }));
    try {
      return tokenizer.encodeMarked(this.#render(marked, rendering), mark);
    } catch (error) {
      if (!(error instanceof TemplateProblem)) throw error;
      const why = error.message.replaceAll(mark, "");
      throw new TemplateProblem(`The chat template in '${path}' refuses this: ${why}`, { cause: error });
    }
  }

  #render(messages: readonly Message[], { goesOn, date }: Omit<Rendering, "tokenizer">): string {
    this.#template ??= new BoundedTemplate(this.#files.text);
    const variables = { ...this.#files.tokens, messages, tools: null, documents: null, add_generation_prompt: goesOn };
    return this.#template.render(variables, date);
  }
}

const jinjaName = "chat_template.jinja";
const configName = "tokenizer_config.json";
const tokenNames = [
  "bos_token",
  "eos_token",
  "unk_token",
  "sep_token",
  "pad_token",
  "cls_token",
  "mask_token",
] as const;

const configShape = v.looseObject({
  chat_template: v.nullish(v.union([
    v.string(),
    v.array(v.looseObject({ name: v.string(), template: v.string() })),
  ], "must be a template, or a list of templates with names")),
  ...v.entriesFromList(tokenNames, tokenShape),
});

/** Null: the folder has none. */
export async function chatTemplateBeside(folder: string): Promise<ChatTemplate | null> {
  const config = await readSettings(`${folder}/${configName}`, configShape);
  const jinja = await readSettingsBytes(`${folder}/${jinjaName}`);
  const tokens: Record<string, string> = {};
  for (const name of tokenNames) {
    const spelling = spellingOf(config?.[name]);
    if (spelling !== undefined) tokens[name] = spelling;
  }
  if (jinja !== null) {
    return new ChatTemplate({ path: `${folder}/${jinjaName}`, text: new TextDecoder().decode(jinja), tokens });
  }
  const given = config?.chat_template ?? null;
  const text = Array.isArray(given) ? given.find(({ name }) => name === "default")?.template : given;
  return typeof text === "string" ? new ChatTemplate({ path: `${folder}/${configName}`, text, tokens }) : null;
}
