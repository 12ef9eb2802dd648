/** The number of threads changes no bit: operations of odd sizes, and training. */

import { assertEquals } from "@std/assert";
import { type OptimizerName, optimizerNames } from "../../../../core/config/optimizer_names.ts";
import type { CpuDispatch } from "../../../../gpu/cpu/cpu_dispatch.ts";
import { createCpuStage } from "../../../../gpu/cpu/cpu_stage.ts";
import { CpuMemory } from "../../../../gpu/cpu/layout/memory.ts";
import { CpuOps } from "../../../../gpu/cpu/ops.ts";
import { CpuOrthogonalOps } from "../../../../gpu/cpu/orthogonal_ops.ts";
import { startHelpers } from "../../../../gpu/cpu/threads/helper_threads.ts";
import { Team } from "../../../../gpu/cpu/threads/team.ts";
import { openComputeWorker } from "../../../../gpu/worker_client.ts";
import type { BufferRange, Dispatch } from "../../../../gpu/stage_ops.ts";
import { noise } from "../../../support/finite_difference.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../../../support/tiny_model.ts";
import { isWhole } from "../../../support/whole.ts";

const sharing = { leastNs: 0, leastRangeNs: 0 }; // everything, however small

/** A stage's operations on memory of their own, all of whose values are noise. */
class Bench {
  readonly #memory: CpuMemory;
  readonly #team: Team;
  readonly ops: CpuOps;
  readonly orthogonal: CpuOrthogonalOps;
  readonly #ranges: BufferRange[] = [];

  constructor(threads: number) {
    this.#memory = new CpuMemory({ isShared: threads > 1 });
    this.#team = new Team(this.#memory, { threads, sharing });
    this.ops = new CpuOps(this.#memory, this.#team);
    this.orthogonal = new CpuOrthogonalOps(this.#team);
  }

  floats(count: number): BufferRange {
    const range = this.#memory.storage("values", count);
    this.#memory.upload(range, Float32Array.from(noise(`values ${this.#ranges.length}`, count)));
    this.#ranges.push(range);
    return range;
  }

  words(values: readonly number[]): BufferRange {
    const range = this.#memory.storage("words", values.length);
    this.#memory.upload(range, Uint32Array.from(values));
    return range;
  }

  /** All values after the operations, as bits. */
  async bitsAfter(build: (bench: Bench) => readonly Dispatch[]): Promise<Uint32Array[]> {
    const dispatches = build(this) as readonly CpuDispatch[];
    await this.#team.start(startHelpers);
    for (const { run } of dispatches) run();
    this.#team.close();
    return this.#ranges.map((range) => this.#memory.words(range).slice());
  }
}

const cases: Record<string, (bench: Bench) => readonly Dispatch[]> = {};

for (const [rows, inWidth, outWidth] of [[1, 4, 4], [1, 260, 20], [2, 8, 516], [7, 516, 12], [133, 20, 36]] as const) {
  const sizes = { rows, inWidth, outWidth, outStride: outWidth + 4 };
  const name = `(${rows}, ${inWidth}, ${outWidth})`;
  const tensors = (bench: Bench) =>
    [
      ...[bench.floats(rows * inWidth), bench.floats(outWidth * inWidth), bench.floats(rows * (outWidth + 4))] as const,
      bench.floats(rows * (outWidth + 4)),
    ] as const;
  cases[`linear ${name}`] = (bench) => {
    const [input, weight, output, residual] = tensors(bench);
    return [bench.ops.linear(sizes, { input, weight, output, residual })];
  };
  cases[`gradients of linear ${name}`] = (bench) => {
    const [input, weight, outputGradient] = tensors(bench);
    const [inputGradient, weightGradient] = [bench.floats(rows * inWidth), bench.floats(outWidth * inWidth)];
    return [
      bench.ops.linearInputGradient({ ...sizes, accumulate: true }, { outputGradient, weight, inputGradient }),
      bench.ops.linearWeightGradient(sizes, { outputGradient, input, weightGradient }),
    ];
  };
}

for (const rows of [1, 2, 5]) {
  const width = 20;
  const vector = (bench: Bench, wide = 1) => bench.floats(rows * wide * width);
  cases[`norm of ${rows}`] = (bench) => {
    const [input, gain, inverseRms, output] = [vector(bench), bench.floats(width), bench.floats(rows), vector(bench)];
    const [outputGradient, inputGradient] = [vector(bench), vector(bench)];
    const [gainGradient, partial] = [bench.floats(width), bench.floats(width)];
    const backward = { input, gain, inverseRms, outputGradient, inputGradient, gainGradient, partial };
    return [
      bench.ops.rmsNorm({ rows, width, epsilon: 1e-5 }, { input, gain, output, inverseRms }),
      ...bench.ops.rmsNormBackward({ rows, width, accumulate: true }, backward),
    ];
  };
  cases[`activations of ${rows}`] = (bench) => {
    const [gateUp, activated, activatedGradient, gateUpGradient] = [
      ...[vector(bench, 2), vector(bench), vector(bench), vector(bench, 2)] as const,
    ];
    const [input, output, gradient] = [vector(bench, 300), vector(bench, 300), vector(bench, 300)];
    const [short, long] = [vector(bench), vector(bench, 2)];
    const prefix = { rows, columns: 12, sourceWidth: width, targetWidth: 2 * width };
    const long300 = { rows, width: 300 * width };
    return [
      bench.ops.swiglu({ rows, width }, { gateUp, activated }),
      bench.ops.swigluBackward({ rows, width }, { gateUp, activatedGradient, gateUpGradient }),
      bench.ops.boundaryActivation({ ...long300, type: "silu" }, { input, output }),
      bench.ops.boundaryActivationBackward({ ...long300, type: "relu" }, { input, gradient }),
      bench.ops.prefix({ ...prefix, pad: false }, { source: short, target: long }),
      bench.ops.bfloat16Encode(rows * 300 * width, { values: input, bytes: output }),
      bench.ops.bfloat16Decode(rows * 300 * width, { values: gradient, bytes: output }),
    ];
  };
  cases[`tokens of ${rows}`] = (bench) => {
    const ids = Array.from({ length: rows }, (_, i) => 3 * i % 4);
    const [tokens, targets] = [bench.words(ids), bench.words(ids)];
    const [embedding, output, logits, losses] = [
      ...[bench.floats(4 * width), vector(bench), vector(bench), bench.floats(rows)] as const,
    ];
    const losing = { rows, vocabulary: width, meanOver: rows, writeGradient: true };
    return [
      bench.ops.embed({ rows, width, firstId: 0, ids: 3 }, { tokens, embedding, output }),
      bench.ops.crossEntropy(losing, { targets, logits, losses }),
    ];
  };
}

for (const [sequences, length, heads, kvHeads] of [[1, 1, 1, 1], [1, 13, 4, 2], [3, 9, 2, 2]] as const) {
  const sizes = { sequences, length, heads, kvHeads, headWidth: 16 };
  cases[`attention of ${sequences} x ${length}, ${heads} heads in ${kvHeads} groups`] = (bench) => {
    const rows = sequences * length;
    const qkvFloats = rows * (heads + 2 * kvHeads) * 16;
    const [qkv, output, outputGradient] = [qkvFloats, 16 * rows * heads, 16 * rows * heads].map((count) =>
      bench.floats(count)
    ) as [BufferRange, BufferRange, BufferRange];
    const [logSumExp, delta] = [bench.floats(rows * heads), bench.floats(rows * heads)];
    const [qkvGradient, table] = [bench.floats(qkvFloats), bench.floats(length * 16)];
    const tensors = { qkv, output, logSumExp, outputGradient, delta, qkvGradient };
    return [
      bench.ops.rotate({ ...sizes, direction: 1 }, { table, qkv }),
      bench.ops.attention(sizes, { qkv, output, logSumExp }),
      ...bench.ops.attentionBackward(sizes, tensors),
    ];
  };
}

for (const [rows, columns] of [[4, 12], [68, 20], [36, 548]] as const) {
  cases[`Muon's products of (${rows}, ${columns})`] = (bench) => {
    const side = Math.min(rows, columns);
    const [gradient, momentum, direction] = [rows * columns, rows * columns, rows * columns].map((count) =>
      bench.floats(count)
    ) as [BufferRange, BufferRange, BufferRange];
    const [numbers, inverse, gram, square] = [4, 4, side * side, side * side].map((count) => bench.floats(count)) as [
      ...[BufferRange, BufferRange, BufferRange, BufferRange],
    ];
    const whole = { count: rows * columns };
    return [
      bench.orthogonal.nesterov({ ...whole, decay: 0.9 }, { gradient, momentum, direction, numbers }),
      ...bench.orthogonal.gram({ rows, columns }, { matrix: direction, output: gram }),
      ...bench.orthogonal.symmetricProduct(side, { a: gram, b: gram, output: square }),
      bench.orthogonal.descend({ ...whole, scale: 2 }, { parameters: momentum, change: direction, inverse, numbers }),
    ];
  };
}

for (const [name, build] of Object.entries(cases)) {
  Deno.test(`CPU threads: ${name} has the same bits on any number of threads`, async () => {
    const one = await new Bench(1).bitsAfter(build);
    for (const threads of isWhole ? [2, 3, 7] : [3]) {
      assertEquals(await new Bench(threads).bitsAfter(build), one, `${threads} threads`);
    }
  });
}

const step = { learningRate: 1e-2, gradientScale: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

async function hashAfter(steps: number, { threads, optimizer }: { threads: number; optimizer: OptimizerName }) {
  const spec = specAt(specsOf(tinyConfig({ pipeline: { stages: 1 } }), [2]), 0);
  const stage = await createCpuStage(spec, { threads, optimizer }, { sharing });
  await stage.loadParameters(parametersOf(spec));
  const { tokens, targets } = tokensOf(spec);
  const norms = [];
  for (let i = 0; i < steps; i++) {
    await stage.turnaround({ type: "tokens", tokens }, targets);
    norms.push(await stage.gradientSquareSum());
    await stage.step(step);
  }
  const hash = await crypto.subtle.digest("SHA-256", await stage.readParameters() as BufferSource);
  stage.close();
  return { norms, hash: new Uint8Array(hash).toHex() };
}

for (const optimizer of optimizerNames) {
  Deno.test(`CPU threads: many steps with ${optimizer} end in the same hash on any number of threads`, async () => {
    const steps = isWhole ? 50 : 10;
    const one = await hashAfter(steps, { threads: 1, optimizer });
    for (const threads of isWhole ? [2, 3] : [3]) {
      assertEquals(await hashAfter(steps, { threads, optimizer }), one, `${threads} threads`);
    }
  });
}

Deno.test("CPU threads: a compute worker has them without any right, and the same bits", async () => {
  const spec = specAt(
    specsOf(tinyConfig({ model: { width: 128, contextLength: 64 }, pipeline: { stages: 1 } }), [2]),
    0,
  );
  const { tokens, targets } = tokensOf(spec);
  const results = [];
  for (const threads of [1, 3]) {
    const worker = await openComputeWorker({ device: "cpu", threads });
    assertEquals(worker.threads, threads);
    const stage = await worker.openStage(spec);
    await stage.loadParameters(parametersOf(spec));
    const { lossPerSequence } = await stage.turnaround({ type: "tokens", tokens }, targets);
    results.push({ lossPerSequence, gradients: await stage.readGradients() });
    worker.close();
  }
  assertEquals(results[1], results[0]);
});
