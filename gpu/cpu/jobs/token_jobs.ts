/** Embedding rows to tokens, and gradients back in units of one token id. */

import type { EmbedSizes } from "../../stage_ops.ts";
import type { Hand, Job, Operation } from "./job.ts";

const bytesPerNs = 8;

interface EmbedCall {
  readonly sizes: EmbedSizes;
  readonly addresses: readonly [number, number, number];
}

const numbersOf = ({ sizes: { rows, width, firstId, ids }, addresses }: EmbedCall) => [
  ...addresses,
  ...[rows, width, firstId, ids],
];

export function embedJob(call: EmbedCall): Job {
  const { rows, width } = call.sizes;
  return { operation: "embed", numbers: numbersOf(call), units: rows, unitNs: 50 + 4 * width / bytesPerNs };
}

/** With the index of ../../token_index.ts; a task has at most `rows` ids. */
export function embedBackwardJob(call: EmbedCall): Job {
  const { rows, width } = call.sizes;
  return { operation: "embedBackward", numbers: numbersOf(call), units: rows, unitNs: 50 + 8 * width / bytesPerNs };
}

const wordsOf = ({ memory }: Hand) => new Uint32Array(memory.buffer);

export const runEmbed: Operation = (hand, numbers) => {
  const [tokens, table, output, , width, firstId, ids] = numbers.map((value, i) => i < 3 ? value / 4 : value) as [
    ...[number, number, number, number, number, number, number],
  ];
  const words = wordsOf(hand); // copies keep the bits
  return (from, to) => {
    for (let row = from; row < to; row++) {
      const id = words[tokens + row]! - firstId;
      if (id >= 0 && id < ids) words.copyWithin(output + row * width, table + id * width, table + (id + 1) * width);
    }
  };
};

export const runEmbedBackward: Operation = (hand, numbers) => {
  const [index, outputGradient, tableGradient, rows, width, firstId, ids] = numbers as [
    ...[number, number, number, number, number, number, number],
  ];
  const words = wordsOf(hand).subarray(index / 4);
  const bytes = 4 * width;
  const [ofIds, starts, positions] = [1, 1 + rows, 2 + 2 * rows];
  return (from, to) => {
    for (let i = from; i < Math.min(to, words[0]!); i++) {
      const id = words[ofIds + i]! - firstId;
      if (id < 0 || id >= ids) continue;
      for (let at = words[starts + i]!; at < words[starts + i + 1]!; at++) {
        hand.kernels.add(outputGradient + words[positions + at]! * bytes, tableGradient + id * bytes, bytes);
      }
    }
  };
};
