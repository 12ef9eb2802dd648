/** The loss that validators agree on for one model, for the orchestrator and whoever verifies its log. */

const tolerance = 1e-4; // of the loss; adapters differ by far less

/** The answer of two validators, or the only one; Infinity: non-finite; null: they disagree. */
export function agreedOn(answers: readonly { readonly loss: number }[]): number | null {
  if (answers.length === 1) return answers[0]!.loss;
  for (const [i, a] of answers.entries()) {
    if (answers.some((b, j) => j > i && isNear(a.loss, b.loss))) return a.loss;
  }
  return null;
}

const isNear = (a: number, b: number): boolean => a === b || Math.abs(a - b) <= tolerance * Math.abs(a);
