/**
 * Benchmarks of kernels whose work is counted in FLOPs: the table and the rows of their summary, beside other libraries and the
 * device's limit. Out of scope: which tasks (gemm_bench.ts, attention_bench.ts).
 */

import type { AdapterSpeed } from "../../../../gpu/speed/adapter_speed.ts";
import type { ComputeWorker } from "../../../../gpu/worker_client.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { bothClocks, byName, inArena, type LabelledTask } from "./compute_bench.ts";
import { OwnDevice } from "./own_device.ts";

const scale = 1e9; // FLOP in a GFLOP

export interface FlopsPlan<Fields extends object> {
  /** A GPU needs larger shapes to be full. */
  tasksOn(adapter: { readonly isSoftware: boolean }): readonly (LabelledTask & { readonly fields: Fields })[];
  readonly budgetMs: number; // of all runs of one number; of a GPU's four times as much
}

const hardwareBudgets = 4; // a run ends with a wait of some 11 ms (gpu/webgpu/buffers.ts)

/** A whole benchmark of kernels: a row in GFLOP for each task, named by `fields` in the summary. */
export async function benchFlops<Fields extends object>(
  context: CommandContext,
  plan: FlopsPlan<Fields>,
): Promise<number> {
  await inArena(context, async ({ worker: { adapter }, measure, facts, limits }) => {
    const tasks = plan.tasksOn(adapter);
    const budgetMs = plan.budgetMs * (adapter.isSoftware ? 1 : hardwareBudgets);
    const limitOf = (of: AdapterSpeed) => of.multiplyAdds;
    const ours = (worker: ComputeWorker) => new OwnDevice(worker);
    const figures = await measure(tasks, { title: "GFLOP", scale, limitOf, budgetMs, ours });
    const rows = tasks.map(({ fields }, i) => {
      const { ours, peers, missing } = figures[i]!;
      return {
        ...fields,
        ...bothClocks("gflops", { speed: ours, scale }),
        peers: byName(peers, { clock: "perCpuSecond", scale }),
        peersPerSecond: byName(peers, { clock: "perSecond", scale }),
        missing,
      };
    });
    const limit = limits === null ? {} : { limit: bothClocks("gflops", { speed: limits.multiplyAdds, scale }) };
    context.output.summary(context.output.mode === "json" ? { ...facts, ...limit, rows } : facts); // people have seen them
  });
  return 0;
}
