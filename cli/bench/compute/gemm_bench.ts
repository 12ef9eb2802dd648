/**
 * `iota bench gemm`: the matrix products of training, in the three forms that a linear layer needs, at square sizes and at those
 * of a model, beside other libraries.
 *
 * Owns: the shapes. The products are the very ones that stages use, in the worker as in training.
 */

import type { GemmKind } from "../../../gpu/speed/gemm_speed.ts";
import type { CommandContext } from "../../command.ts";
import { bothClocks, byName, type Figure, inArena } from "./compute_bench.ts";
import { OwnDevice } from "./own_device.ts";
import { gemmForms } from "./task.ts";

const shapes = [
  { rows: 128, inWidth: 128, outWidth: 128 },
  { rows: 256, inWidth: 256, outWidth: 256 },
  { rows: 512, inWidth: 512, outWidth: 512 },
  { rows: 512, inWidth: 128, outWidth: 768 }, // gate and up of `tiny`
  { rows: 512, inWidth: 128, outWidth: 1024 }, // its logits
];
const scale = 1e9; // FLOP in a GFLOP

export async function runGemmBench(context: CommandContext): Promise<number> {
  const budgetMs = 1000 * (context.options.number("seconds") ?? 3) / 3; // of each form
  const tasks = shapes.flatMap((sizes) =>
    (Object.keys(gemmForms) as GemmKind[]).map((kind) => {
      const shape = `${sizes.rows}x${sizes.inWidth}x${sizes.outWidth}`; // rows, inputs, outputs
      return { shape, label: `${shape} ${gemmForms[kind]}`, task: { type: "gemm", kind, ...sizes } as const };
    })
  );
  await inArena(context, async ({ measure, facts, limits }) => {
    const unit = { title: "GFLOP", scale, limitOf: (of: NonNullable<typeof limits>) => of.multiplyAdds, budgetMs };
    const figures = await measure(tasks, { ...unit, ours: (worker) => new OwnDevice(worker) });
    const rows = tasks.map(({ shape, task }, i) => rowOf(figures[i]!, { shape, kind: gemmForms[task.kind] }));
    const limit = limits === null ? {} : { limit: bothClocks("gflops", { speed: limits.multiplyAdds, scale }) };
    // People have seen the rows.
    context.output.summary(context.output.mode === "json" ? { ...facts, ...limit, rows } : facts);
  });
  return 0;
}

function rowOf({ ours, peers, missing }: Figure, named: { shape: string; kind: string }) {
  return {
    ...named,
    ...bothClocks("gflops", { speed: ours, scale }),
    peers: byName(peers, { clock: "perCpuSecond", scale }),
    peersPerSecond: byName(peers, { clock: "perSecond", scale }),
    missing,
  };
}
