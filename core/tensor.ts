/**
 * A tensor of parameters as whoever needs it asks for it: name, shape and how it starts.
 *
 * Owns the description only. Where a tensor lies in a stage's vector is in model/spec.ts, how its values are drawn in
 * model/initial.ts. Below both, so that a codec can ask for tensors without knowing the model.
 */

export type Initial = { readonly type: "normal"; readonly std: number } | { readonly type: "ones" };

export interface TensorDraft {
  readonly name: string; // Hugging Face's name; ours under `model.boundary.`
  readonly shape: readonly number[]; // (out, in): a matrix, which decays; (n): a gain, which does not
  readonly initial: Initial;
}

/** Scale 1/sqrt(fan in), so that what a linear layer puts out is as large as what it takes in. */
export function normalFor(fanIn: number, scale = 1): Initial {
  return { type: "normal", std: scale / Math.sqrt(fanIn) };
}
