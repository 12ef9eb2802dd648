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

const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
const specialToken = (id: number, content: string) => ({ id, content, special: true, ...flags });

/** As make_chat.py does. */
export function tokenizerJson({ style, added }: Pick<ChatCase, "style" | "added">): TokenizerJson {
  const file = structuredClone(styleNamed(style).file) as unknown as TokenizerJson;
  const ids = [...Object.values(file.model.vocab), ...file.added_tokens.map(({ id }) => id)];
  const first = Math.max(...ids) + 1;
  file.added_tokens.push(...added.map((content, i) => specialToken(first + i, content)));
  return file;
}

export async function writeTokenizer(folder: string, chatCase: ChatCase): Promise<void> {
  await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(tokenizerJson(chatCase)));
  await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(chatCase.config));
}

const llama = new URL("../vectors/export/llama", import.meta.url).pathname;

export const chatSpecials = ["<|im_start|>", "<|im_end|>"] as const;

/** The template of a chat model whose turns have those tokens around them. */
export const chatMl = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + " +
  "'<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** A tiny Llama with random parameters, bytes as tokens and a chat template; it ends its turns with any of `ends`. */
export async function writeChatModel(folder: string, { ends = [256, 258] }: { ends?: number[] } = {}): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  for await (const { name } of Deno.readDir(llama)) await Deno.copyFile(`${llama}/${name}`, `${folder}/${name}`);
  const file: TokenizerJson = JSON.parse(await Deno.readTextFile(`${llama}/tokenizer.json`));
  file.added_tokens.push(...chatSpecials.map((content, i) => specialToken(257 + i, content)));
  const write = (name: string, value: unknown) => Deno.writeTextFile(`${folder}/${name}`, JSON.stringify(value));
  await write("tokenizer.json", file);
  await write("tokenizer_config.json", {
    ...{ tokenizer_class: "PreTrainedTokenizerFast", eos_token: "<|endoftext|>" },
    chat_template: chatMl,
  });
  const config = JSON.parse(await Deno.readTextFile(`${llama}/config.json`));
  await write("config.json", { ...config, max_position_embeddings: 256 });
  await write("generation_config.json", { eos_token_id: ends });
}
