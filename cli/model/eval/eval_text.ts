/**
 * Loss on a text: in windows of the model's context, or of the room for it, that do not overlap, as a run evaluates its
 * held-out text. Bits per byte compare models with other tokenizers.
 */

import { startOf } from "../../../core/tokenizer/tokenizer.ts";
import type { TextModel } from "../generate/text_model.ts";
import { type ScoredText, scoreTexts } from "./score_tokens.ts";

export interface TextScore {
  readonly nats: number; // mean per token
  readonly bitsPerByte: number; // of UTF-8
  readonly tokens: number;
  readonly bytes: number;
}

export async function evalText(
  model: TextModel,
  text: string,
  onScored: (done: number, total: number) => void = () => {},
): Promise<TextScore> {
  const { room, tokenizer } = model;
  const start = startOf(tokenizer);
  const tokens = [...start, ...tokenizer.encode(text)];
  const windows: ScoredText[] = [];
  for (let first = 0; first + 1 < tokens.length; first += room.length) {
    windows.push({ tokens: tokens.slice(first, first + room.length + 1), from: first === 0 ? start.length : 1 });
  }
  let sum = 0;
  for (let i = 0; i < windows.length; i += room.streams) {
    onScored(i, windows.length);
    for (const losses of await scoreTexts(model, windows.slice(i, i + room.streams))) {
      sum += losses.reduce((total, loss) => total + loss, 0);
    }
  }
  const scored = tokens.length - start.length;
  const bytes = new TextEncoder().encode(text).length;
  return { nats: sum / scored, bitsPerByte: sum / Math.LN2 / bytes, tokens: scored, bytes };
}
