/** Continues one text. */

import type { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import type { Sampling } from "./sampling.ts";
import { TextEngine } from "./text_engine.ts";
import type { TextModel } from "./text_model.ts";

interface GenerateOptions extends Sampling {
  readonly model: TextModel;
  readonly prompt: string;
  readonly tokens: number;
  readonly seed: number;
  /** @default always goes on */
  readonly goesOn?: () => boolean;
  readonly onToken?: (token: number) => void;
}

/** Returns the continuation without the prompt. Ends early at `<|endoftext|>`, which is not part of it. */
export async function generateText(options: GenerateOptions): Promise<string> {
  const { model, goesOn = () => true, onToken = () => {} } = options;
  const made: number[] = [];
  const engine = new TextEngine(model);
  let isOver = false;
  engine.add({
    ...options,
    prompt: promptTokens(model.tokenizer, options.prompt),
    onToken(token) {
      made.push(token);
      onToken(token);
      return true;
    },
    onEnd: () => isOver = true,
  });
  while (!isOver && goesOn()) await engine.step();
  return model.tokenizer.decode(made);
}

/** Without a prompt the text begins as a document does. */
export function promptTokens(tokenizer: Tokenizer, prompt: string): number[] {
  const tokens = tokenizer.encode(prompt);
  return tokens.length > 0 ? tokens : [tokenizer.endOfText];
}
