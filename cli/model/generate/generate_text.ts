/** Continues one text. */

import { startOf, type Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { Sampling } from "./sampling.ts";
import { TextEngine } from "./text_engine.ts";
import type { TextModel } from "./text_model.ts";
import { TextStream } from "./text_stream.ts";

interface GenerateOptions extends Sampling {
  readonly model: TextModel;
  readonly prompt: string;
  readonly tokens: number;
  readonly seed: number;
  /** @default always goes on */
  readonly goesOn?: () => boolean;
  readonly onToken?: (token: number) => void;
  /** Whole characters, as soon as they are certain. */
  readonly onText?: (piece: string) => void;
  /** The text ends before the first of them. @default none */
  readonly stops?: readonly string[];
}

/** Returns the continuation without the prompt. Ends early at a token that ends texts, which is not part of it. */
export async function generateText(options: GenerateOptions): Promise<string> {
  const { model, goesOn = () => true, onToken = () => {}, onText = () => {}, stops = [] } = options;
  const engine = new TextEngine(model);
  const stream = new TextStream(model.tokenizer, stops);
  let [text, isOver] = ["", false];
  const tell = (piece: string) => {
    text += piece;
    if (piece !== "") onText(piece);
  };
  engine.add({
    ...options,
    prompt: promptTokens(model.tokenizer, options.prompt),
    onToken(token) {
      onToken(token);
      tell(stream.take(token));
      return !stream.isStopped;
    },
    onEnd: () => isOver = true,
  });
  while (!isOver && goesOn()) await engine.step();
  tell(stream.end());
  return text;
}

/** With what the model's tokenizer puts before a text. Without that and a prompt, the text begins as a document does. */
export function promptTokens(tokenizer: Tokenizer, prompt: string): number[] {
  const tokens = [...tokenizer.beginOfText, ...tokenizer.encode(prompt)];
  return tokens.length > 0 ? tokens : [...startOf(tokenizer)];
}
