/**
 * A tensor of parameters as requested by the code that needs it: name, shape and initial values.
 *
 * Owns the description only. Its position in a stage's vector is in model/spec.ts, its initial values are in
 * model/initial.ts. Below both, so that a codec can ask for tensors without knowing the model.
 */

export type Initial = { readonly type: "normal"; readonly std: number } | { readonly type: "ones" };

export interface TensorDraft {
  readonly name: string; // Hugging Face's name; ours under `model.boundary.`
  readonly shape: readonly number[]; // (out, in): a matrix, which decays; (n): a gain, which does not
  readonly initial: Initial;
}

/** Scale 1/sqrt(fan in), so that a linear layer's output is as large as its input. */
export function normalFor(fanIn: number, scale = 1): Initial {
  return { type: "normal", std: scale / Math.sqrt(fanIn) };
}
