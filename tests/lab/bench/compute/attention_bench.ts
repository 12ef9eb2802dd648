/**
 * `lab bench attention`: causal attention, forward and backward, at the shapes of models, beside other libraries.
 *
 * FLOPs are those that a causal mask leaves, for everybody (gpu/speed/attention_speed.ts). Backward includes what a library
 * computes again of the forward.
 */

import type { AttentionPass } from "../../../../gpu/speed/attention_speed.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { benchFlops } from "./flops_bench.ts";

const softwareShapes = [
  { sequences: 8, length: 128, heads: 4, headWidth: 32 }, // the model of 0.92 M parameters
  { sequences: 8, length: 256, heads: 8, headWidth: 32 }, // `small`
  { sequences: 1, length: 1024, heads: 8, headWidth: 64 },
];
const hardwareShapes = [
  { sequences: 8, length: 256, heads: 8, headWidth: 32 }, // `small`
  { sequences: 8, length: 1024, heads: 12, headWidth: 64 }, // `100m`
  { sequences: 2, length: 4096, heads: 16, headWidth: 128 },
];
const passes: readonly AttentionPass[] = ["forward", "backward"];

export async function runAttentionBench(context: CommandContext): Promise<number> {
  return await benchFlops(context, {
    budgetMs: 1000 * (context.options.number("seconds") ?? 3) / 2, // of each pass
    tasksOn: ({ isSoftware }) =>
      (isSoftware ? softwareShapes : hardwareShapes).flatMap((sizes) =>
        passes.map((pass) => {
          const shape = `${sizes.sequences}x${sizes.length}x${sizes.heads}x${sizes.headWidth}`; // B, T, heads, head width
          const task = { type: "attention", pass, ...sizes, kvHeads: sizes.heads } as const;
          return { fields: { shape, pass }, label: `${shape} ${pass}`, task };
        })
      ),
  });
}
