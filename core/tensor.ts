/** A tensor of parameters as requested. model/spec.ts places it, model/initial.ts fills it. */

type Initial = { readonly type: "normal"; readonly std: number } | { readonly type: "ones" };

export interface TensorDraft {
  readonly name: string; // Hugging Face's, or under `model.boundary.`
  readonly shape: readonly number[]; // (out, in): a matrix, decays; (n): a gain, does not
  readonly initial: Initial;
}

/** A linear layer's output is then as large as its input. */
export function normalFor(fanIn: number, scale = 1): Initial {
  return { type: "normal", std: scale / Math.sqrt(fanIn) };
}
