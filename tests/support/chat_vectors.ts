/** Folders of tokenizers with chat templates, and what transformers makes of prompts and conversations with them. */

import { styleNamed } from "./tokenizer_styles.ts";

export interface ChatCase {
  readonly style: string;
  readonly added: readonly string[]; // special tokens beside the style's own
  readonly config: Record<string, unknown>; // tokenizer_config.json
  readonly prompts: readonly { readonly text: string; readonly ids: string }[];
  readonly chats: readonly {
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly goesOn: boolean;
    readonly text: string;
    readonly ids: string;
  }[];
}

export const chatCases = (): readonly ChatCase[] =>
  JSON.parse(Deno.readTextFileSync(new URL("../vectors/chat/chat.json", import.meta.url)));

interface TokenizerJson {
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly added_tokens: { id: number; content: string; special: boolean }[];
}

/** As make_chat.py does. */
export function tokenizerJson({ style, added }: Pick<ChatCase, "style" | "added">): TokenizerJson {
  const file = structuredClone(styleNamed(style).file) as unknown as TokenizerJson;
  const ids = [...Object.values(file.model.vocab), ...file.added_tokens.map(({ id }) => id)];
  const first = Math.max(...ids) + 1;
  file.added_tokens.push(...added.map((content, i) => ({ id: first + i, content, special: true })));
  return file;
}

export async function writeTokenizer(folder: string, chatCase: ChatCase): Promise<void> {
  await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(tokenizerJson(chatCase)));
  await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(chatCase.config));
}
