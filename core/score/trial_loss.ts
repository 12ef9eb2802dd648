/** The loss that validators who tried the same model agree on: one rule for the hub and for whoever verifies its log. */

const tolerance = 1e-4; // of the loss: gains are compared with each other, and adapters differ by far less

/** Two of them, or the only one; Infinity: the output is not finite; null: they do not agree. */
export function agreedOn(answers: readonly { readonly loss: number }[]): number | null {
  if (answers.length === 1) return answers[0]!.loss;
  for (const [i, a] of answers.entries()) {
    if (answers.some((b, j) => j > i && isNear(a.loss, b.loss))) return a.loss;
  }
  return null;
}

const isNear = (a: number, b: number): boolean => a === b || Math.abs(a - b) <= tolerance * Math.abs(a);
