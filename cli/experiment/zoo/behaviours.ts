/**
 * The zoo: what a miner may deliver in place of its stage's output, most of which a cosine accepts.
 *
 * Each entry says how its values come about, from what an audit sees and from the same stage computed otherwise (`Variant`).
 */

import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";

/** The stage with other parameters, or on another kind of device. */
export const variants = ["other device", "no last layer", "no last FFN", "stale", "replica"] as const;
export type Variant = typeof variants[number];

/** A microbatch at the stage: values on the wire, (rows, width) each. */
export interface Seen {
  readonly input: Float32Array;
  readonly output: Float32Array;
  readonly otherOutput: Float32Array; // of the microbatch before
  readonly by: (variant: Variant) => Promise<Float32Array>;
}

export interface Behaviour {
  readonly name: string;
  readonly isHonest: boolean;
  readonly values: (seen: Seen) => Float32Array | Promise<Float32Array>;
}

const cheat = (name: string, values: Behaviour["values"]): Behaviour => ({ name, isHonest: false, values });

export const behaviours: readonly Behaviour[] = [
  { name: "honest, same kind of device", isHonest: true, values: ({ output }) => output },
  { name: "honest, another kind of device", isHonest: true, values: ({ by }) => by("other device") },
  cheat("returns its input", ({ input }) => input),
  cheat("skips its last layer", ({ by }) => by("no last layer")),
  cheat("skips its last feed-forward network", ({ by }) => by("no last FFN")),
  cheat("computes half of the way", ({ input, output }) => output.map((value, i) => (value + input[i]!) / 2)),
  cheat("noise of 45 % of the values", ({ output }) => noisy(output, 0.45)),
  cheat("noise of 10 % of the values", ({ output }) => noisy(output, 0.1)),
  cheat("scaled by 0.82", ({ output }) => output.map((value) => 0.82 * value)),
  cheat("parameters of 15 steps ago", ({ by }) => by("stale")),
  cheat("parameters of another replica", ({ by }) => by("replica")),
  cheat("the output of another microbatch", ({ otherOutput }) => otherOutput),
];

/** Uniform, of this share of the root mean square. */
function noisy(output: Float32Array, share: number): Float32Array {
  const stream = openStream(keyOf(0, "noise"));
  const scale = share * Math.sqrt(output.reduce((sum, value) => sum + value ** 2, 0) / output.length);
  const uniform = () => nextUint32(stream) / 2 ** 32 - 0.5; // variance 1/12
  return output.map((value) => value + scale * Math.sqrt(12) * uniform());
}
