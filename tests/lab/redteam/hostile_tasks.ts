/** Attackers that do less than they were asked to, or something else: copies, skipped layers, other data, dropped gradients. */

import { stageWires } from "../../../core/model/stage_wires.ts";
import { seededRandom } from "../world/seeded_random.ts";
import { type Hostile, instead, together } from "./hostile_node.ts";
import { rmsOf, type Spoil } from "./hostile_wires.ts";

/** All values equal, as large as the honest ones are on average. */
export const flat: Spoil = (values) => values.fill(rmsOf(values));

/** Noise as large as the honest values. */
export function noise(seed: number): Spoil {
  const random = seededRandom(seed, "noise");
  return (values) => {
    const size = Math.sqrt(3) * rmsOf(values); // of an even distribution with this root mean square
    values.forEach((_, i) => values[i] = size * (2 * random.unit() - 1));
  };
}

/** A pass with the same arguments and another result. */
type Answering = <Given extends unknown[], Result>(
  pass: (...given: Given) => Promise<Result>,
) => (...given: Given) => Promise<Result>;

/** Answers every task in this way, whatever its direction. */
const answers = (answering: Answering): Hostile => ({
  compute: ({ forward, backward, turnaround }, spec) =>
    stageWires(spec).output === null
      ? { turnaround: answering(turnaround) }
      : { forward: answering(forward), backward: answering(backward) },
});

/** Answers each task with the result of the one `late` tasks before it; until there is one, with its own. */
export const delays = (late: number): Hostile => answers((pass) => delayed(pass, late));

/** Computes every nth task and answers the others at once with the last result it has. */
export const replays = (n: number): Hostile => answers((pass) => everyNth(pass, n));

function delayed<Given extends unknown[], Result>(
  pass: (...given: Given) => Promise<Result>,
  late: number,
): (...given: Given) => Promise<Result> {
  const results: Result[] = [];
  return async (...given) => {
    results.push(await pass(...given));
    return results.length > late ? results.shift()! : results.at(-1)!;
  };
}

function everyNth<Given extends unknown[], Result>(
  pass: (...given: Given) => Promise<Result>,
  n: number,
): (...given: Given) => Promise<Result> {
  let last: { result: Result } | null = null;
  let asked = 0;
  return async (...given) => {
    if (last === null || asked++ % n === 0) last = { result: await pass(...given) };
    return last.result;
  };
}

/** Passes on what it is given, as if its layers were the identity, at once. A head or tail repeats its first result instead. */
export const skipsLayers: Hostile = {
  compute: (honest, spec) => {
    const { input, output } = stageWires(spec);
    if (input === null || output === null) return replays(Infinity).compute?.(honest, spec) ?? {};
    return {
      forward: (given) => given.type === "wire" ? Promise.resolve(given.wire) : Promise.reject(new Error("a head")),
      backward: (_input, gradient) => Promise.resolve(gradient),
    };
  },
};

/** A head that computes with other tokens than it was given, always the same ones. */
export const readsOnePage: Hostile = {
  compute: ({ forward, backward }) => {
    let page: Uint32Array | null = null;
    const pageFor = (tokens: Uint32Array) => ({ type: "tokens" as const, tokens: page ??= tokens.slice() });
    return {
      forward: (input, options) => forward(input.type === "tokens" ? pageFor(input.tokens) : input, options),
      backward: (input, gradient, options) =>
        backward(input.type === "tokens" ? pageFor(input.tokens) : input, gradient, options),
    };
  },
};

/** A tail that trains on other targets: each token is mirrored in the vocabulary. */
export const flipsLabels: Hostile = {
  compute: ({ turnaround }, { model: { vocabSize } }) => ({
    turnaround: (input, targets) => turnaround(input, targets.map((token) => vocabSize - 1 - token)),
  }),
};

/**
 * Keeps the gradient of its last task only, and reports a norm as if it had added them all up. Its wires are right, as the
 * gradient towards the stage before is what others see.
 */
export function keepsOneGradient(): Hostile {
  let tasks = 0;
  return together(
    {
      compute: ({ backward, turnaround, zeroGradients }) => ({
        backward: async (...given) => {
          tasks += 1;
          await zeroGradients();
          return await backward(...given);
        },
        turnaround: async (...given) => {
          tasks += 1;
          await zeroGradients();
          return await turnaround(...given);
        },
      }),
    },
    instead("stepSealed", ({ message }) => {
      const gradientSquareSum = message.gradientSquareSum * Math.max(1, tasks);
      tasks = 0;
      return { ...message, gradientSquareSum };
    }),
  );
}
