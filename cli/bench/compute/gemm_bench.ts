/**
 * `iota bench gemm`: the matrix products of training, in the three forms that a linear layer needs, at square sizes and at those
 * of a model, beside other libraries.
 *
 * Owns: the shapes. The products are the very ones that stages use, in the worker as in training.
 */

import type { GemmKind } from "../../../gpu/speed/gemm_speed.ts";
import type { CommandContext } from "../../command.ts";
import { benchFlops } from "./flops_bench.ts";
import { gemmForms } from "./task.ts";

const shapes = [
  { rows: 128, inWidth: 128, outWidth: 128 },
  { rows: 256, inWidth: 256, outWidth: 256 },
  { rows: 512, inWidth: 512, outWidth: 512 },
  { rows: 512, inWidth: 128, outWidth: 768 }, // gate and up of `tiny`
  { rows: 512, inWidth: 128, outWidth: 1024 }, // its logits
];

export async function runGemmBench(context: CommandContext): Promise<number> {
  const budgetMs = 1000 * (context.options.number("seconds") ?? 3) / 3; // of each form
  const tasks = shapes.flatMap((sizes) =>
    (Object.keys(gemmForms) as GemmKind[]).map((kind) => {
      const shape = `${sizes.rows}x${sizes.inWidth}x${sizes.outWidth}`; // rows, inputs, outputs
      const named = { fields: { shape, kind: gemmForms[kind] }, label: `${shape} ${gemmForms[kind]}` };
      return { ...named, task: { type: "gemm", kind, ...sizes } as const };
    })
  );
  return await benchFlops(context, { tasks, budgetMs });
}
