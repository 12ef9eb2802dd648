/** A unit is one sequence's queries of one group. */

import type { AttentionSizes } from "../../attention_sizes.ts";
import { type AttentionAddresses, attentionFloats, CpuAttention } from "./attention.ts";
import type { Job, Operation, OperationName } from "./job.ts";

const flopsPerNs = 15; // one thread, softmax included

export interface AttentionCall {
  readonly operation: Extract<OperationName, "attention" | "attentionQueries" | "attentionKeys">;
  readonly sizes: AttentionSizes;
  readonly addresses: AttentionAddresses;
  readonly scratch: number; // for every thread
}

const productsOf = { attention: 2, attentionQueries: 3, attentionKeys: 4 } as const;
const tensors = ["qkv", "output", "logSumExp", "outputGradient", "delta", "qkvGradient"] as const;

export function attentionJob({ operation, sizes, addresses, scratch }: AttentionCall): Job {
  const { sequences, length, heads, kvHeads, headWidth } = sizes;
  const flops = productsOf[operation] * length * length * headWidth * (heads / kvHeads); // half is masked
  return {
    operation,
    numbers: [
      ...[sequences, length, heads, kvHeads, headWidth, scratch],
      ...tensors.map((name) => addresses[name]),
    ],
    units: sequences * kvHeads,
    unitNs: flops / flopsPerNs,
  };
}

export function runAttention(pass: "forward" | "backwardQueries" | "backwardKeys"): Operation {
  return (hand, numbers) => {
    const [sequences, length, heads, kvHeads, headWidth, scratch, ...rest] = numbers as [
      ...[number, number, number, number, number, number],
      ...number[],
    ];
    const sizes: AttentionSizes = { sequences, length, heads, kvHeads, headWidth };
    const addresses = Object.fromEntries(tensors.map((name, i) => [name, rest[i]!])) as AttentionAddresses;
    const own = scratch + 4 * hand.index * attentionFloats(sizes);
    const attention = new CpuAttention(hand, { sizes, scratch: own });
    return (from, to) => attention[pass](addresses, { from, to });
  };
}
