/**
 * `iota bench gemm`: the matrix products of training on a device, in the three forms that a linear layer needs, at square sizes
 * and at those of a model.
 *
 * Owns: the shapes. The products are the very ones that stages use, in the worker as in training.
 */

import type { GemmKind } from "../../gpu/gemm_speed.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import type { CommandContext } from "../command.ts";
import { deviceText, openDevice } from "../roles/open_device.ts";

const shapes = [
  { rows: 128, inWidth: 128, outWidth: 128 },
  { rows: 256, inWidth: 256, outWidth: 256 },
  { rows: 512, inWidth: 512, outWidth: 512 },
  { rows: 512, inWidth: 128, outWidth: 768 }, // gate and up of `tiny`
  { rows: 512, inWidth: 128, outWidth: 1024 }, // its logits
];
const kinds: Readonly<Record<GemmKind, string>> = { forward: "NT", inputGradient: "NN", weightGradient: "TN" };

interface Row {
  readonly shape: string; // rows, inputs, outputs
  readonly kind: string;
  readonly gflopsPerCpuSecond: number;
  readonly gflopsPerSecond: number;
  readonly peers: Readonly<Record<string, number>>; // of each that was measured beside it
}

export async function runGemmBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const signal = context.interruption();
  const worker = await openDevice(options.text("device"), { threads: options.number("threads") });
  output.line(`Computes on ${deviceText(worker)}`);
  try {
    const rows = await measureAll(context, { worker, signal });
    const { threads, adapter: { device, name: adapter } } = worker;
    const measured = { device, adapter, threads };
    output.summary(output.mode === "json" ? { ...measured, rows } : measured); // people have seen the rows
  } finally {
    await worker.finish(); // never terminated just before the exit: see its contract
  }
  return 0;
}

async function measureAll(
  { output, options }: CommandContext,
  { worker, signal }: { worker: ComputeWorker; signal: AbortSignal },
): Promise<Row[]> {
  const budgetMs = 1000 * (options.number("seconds") ?? 3) / 3; // of each form
  const rows: Row[] = [];
  for (const sizes of shapes) {
    for (const [kind, form] of Object.entries(kinds) as [GemmKind, string][]) {
      signal.throwIfAborted();
      const speed = await worker.measureGemm({ budgetMs, task: { kind, ...sizes } });
      if (speed === null) continue; // the reference is not built for speed
      const [gflopsPerCpuSecond, gflopsPerSecond] = [speed.flopsPerCpuSecond / 1e9, speed.flopsPerSecond / 1e9];
      const shape = `${sizes.rows}x${sizes.inWidth}x${sizes.outWidth}`;
      rows.push({ shape, kind: form, gflopsPerCpuSecond, gflopsPerSecond, peers: {} });
      const numbers = [gflopsPerCpuSecond, gflopsPerSecond].map((each) => each.toFixed(1).padStart(8));
      output.line(`${shape.padEnd(14)} ${form}  ${numbers[0]} GFLOP per CPU second  ${numbers[1]} GFLOP/s`);
    }
  }
  return rows;
}
