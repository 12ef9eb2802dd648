/** What a cheating miner sends in place of its stage's output, each of which passes a cosine of 0.9. */

import { keyOf, nextUint32, openStream } from "../../../../core/prng.ts";

export interface Attack {
  readonly name: string;
  /** (rows, width) each, on a wire that is the residual stream itself. */
  forge(values: { readonly input: Float32Array; readonly output: Float32Array }): Float32Array;
}

const noiseShare = 0.3; // of the output's root mean square

export const attacks: readonly Attack[] = [
  { name: "skips its stage", forge: ({ input }) => input },
  { name: "computes half", forge: ({ input, output }) => output.map((value, i) => (value + input[i]!) / 2) },
  { name: "adds noise", forge: ({ output }) => noisy(output) },
];

function noisy(output: Float32Array): Float32Array {
  const stream = openStream(keyOf(0, "noise"));
  const scale = noiseShare * Math.sqrt(output.reduce((sum, value) => sum + value ** 2, 0) / output.length);
  const uniform = () => nextUint32(stream) / 2 ** 32 - 0.5; // variance 1/12
  return output.map((value) => value + scale * Math.sqrt(12) * uniform());
}
