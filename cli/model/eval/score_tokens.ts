/** How likely a model finds tokens, each after those before it. */

import { assert } from "../../../core/assert.ts";
import type { Row, TextModel } from "../generate/text_model.ts";

/** A text, and from which of its tokens on it is scored. */
export interface ScoredText {
  readonly tokens: readonly number[];
  readonly from: number; // 1 or later: the first token has nothing before it
}

/** Nats: -ln p of the tokens from `from` on, by text. A text fits the model's room. */
export async function scoreTexts(model: TextModel, texts: readonly ScoredText[]): Promise<Float64Array[]> {
  const { rows: mostRows, streams, length } = model.room;
  const losses = texts.map(({ tokens, from }) => new Float64Array(tokens.length - from));
  const rows: { row: Row; text: number }[] = [];
  const flush = async () => {
    if (rows.length === 0) return;
    const logits = await model.next(rows.map(({ row }) => row));
    for (const [i, { row, text }] of rows.entries()) {
      const { tokens, from } = texts[text]!;
      const target = row.position + 1;
      if (target >= from) losses[text]![target - from] = surprise(logits[i]!, tokens[target]!);
    }
    rows.length = 0;
  };
  for (const [text, { tokens, from }] of texts.entries()) {
    assert(
      from >= 1 && tokens.length - 1 <= length,
      `A text of ${tokens.length} tokens must fit ${length} and one more`,
    );
    if (text % streams === 0) await flush(); // a stream begins anew only when its last text is through
    for (const [position, token] of tokens.slice(0, -1).entries()) {
      rows.push({ text, row: { stream: text % streams, position, token } });
      if (rows.length === mostRows) await flush();
    }
  }
  await flush();
  return losses;
}

/** -ln softmax(logits)[token]. */
function surprise(logits: Float32Array, token: number): number {
  let most = -Infinity;
  for (let i = 0; i < logits.length; i++) most = Math.max(most, logits[i]!);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - most);
  return most + Math.log(sum) - logits[token]!;
}
