/**
 * `lab bench gemm`: the matrix products of training, in the three forms that a linear layer needs, at square sizes and at those
 * of a model, beside other libraries.
 *
 * Owns: the shapes. The products are the very ones that stages use, in the worker as in training.
 */

import { gemmForms, type GemmKind } from "../../../../gpu/speed/gemm_speed.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { benchFlops } from "./flops_bench.ts";

const softwareShapes = [
  { rows: 128, inWidth: 128, outWidth: 128 },
  { rows: 256, inWidth: 256, outWidth: 256 },
  { rows: 512, inWidth: 512, outWidth: 512 },
  { rows: 512, inWidth: 128, outWidth: 768 }, // gate and up of `tiny`
  { rows: 512, inWidth: 128, outWidth: 1024 }, // its logits
];
const hardwareShapes = [
  { rows: 1024, inWidth: 1024, outWidth: 1024 },
  { rows: 2048, inWidth: 2048, outWidth: 2048 },
  { rows: 4096, inWidth: 4096, outWidth: 4096 },
  { rows: 2048, inWidth: 256, outWidth: 1536 }, // gate and up of `small`
  { rows: 8192, inWidth: 768, outWidth: 4096 }, // of `100m`
];

export async function runGemmBench(context: CommandContext): Promise<number> {
  return await benchFlops(context, {
    budgetMs: 1000 * (context.options.number("seconds") ?? 3) / 3, // of each form
    tasksOn: ({ isSoftware }) =>
      (isSoftware ? softwareShapes : hardwareShapes).flatMap((sizes) =>
        (Object.keys(gemmForms) as GemmKind[]).map((kind) => {
          const shape = `${sizes.rows}x${sizes.inWidth}x${sizes.outWidth}`; // rows, inputs, outputs
          const named = { fields: { shape, kind: gemmForms[kind] }, label: `${shape} ${gemmForms[kind]}` };
          return { ...named, task: { type: "gemm", kind, ...sizes } as const };
        })
      ),
  });
}
