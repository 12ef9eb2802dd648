/** The three products of the GEMM generator against a plain loop, and against each other bit by bit. */

import { assert, assertEquals } from "@std/assert";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import {
  type GemmChoice,
  type GemmKind,
  type GemmSettings,
  hardwareGemm,
  sameForAll,
  settingsFor,
  softwareGemm,
} from "../../gpu/webgpu/generate/gemm_settings.ts";
import { Ops, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { type GpuSupport, gpuTest } from "../support/gpu_adapter.ts";
import { isWhole } from "../support/whole.ts";

interface Case {
  readonly kind: GemmKind;
  readonly rows: number;
  readonly inWidth: number;
  readonly outWidth: number;
  readonly residual?: boolean;
}

/** None of these is a multiple of a tile, and the narrow ones are bottleneck widths. */
const cases: Case[] = [
  { kind: "forward", rows: 5, inWidth: 20, outWidth: 12 },
  { kind: "forward", rows: 33, inWidth: 4, outWidth: 72, residual: true },
  { kind: "forward", rows: 16, inWidth: 64, outWidth: 8 },
  { kind: "inputGradient", rows: 5, inWidth: 20, outWidth: 12 },
  { kind: "inputGradient", rows: 41, inWidth: 8, outWidth: 64 },
  { kind: "inputGradient", rows: 8, inWidth: 100, outWidth: 36 },
  { kind: "weightGradient", rows: 20, inWidth: 12, outWidth: 4 },
  { kind: "weightGradient", rows: 32, inWidth: 8, outWidth: 68 },
  { kind: "weightGradient", rows: 36, inWidth: 132, outWidth: 20 },
];

const firstOfKind = cases.filter(({ kind }, i) => cases.findIndex((other) => other.kind === kind) === i);

const wave = (count: number, seed: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i * 1.7));

/**
 * Operands in the layouts of a linear layer: x (rows, in), W (out, in), dy (rows, out), and the values the output is
 * added to.
 */
function operands({ rows, inWidth, outWidth }: Case) {
  return {
    x: wave(rows * inWidth, 1),
    weight: wave(outWidth * inWidth, 2),
    dy: wave(rows * outWidth, 3),
    residual: wave(rows * outWidth, 4),
    weightGradient: wave(outWidth * inWidth, 5),
  };
}

function expected(test: Case): Float64Array {
  const { rows, inWidth, outWidth } = test;
  const { x, weight, dy, residual, weightGradient } = operands(test);
  const fill = (height: number, width: number, value: (row: number, column: number) => number) =>
    Float64Array.from({ length: height * width }, (_, i) => value(Math.floor(i / width), i % width));
  const sum = (count: number, term: (k: number) => number) => {
    let total = 0;
    for (let k = 0; k < count; k++) total += term(k);
    return total;
  };
  switch (test.kind) {
    case "forward":
      return fill(rows, outWidth, (n, o) =>
        sum(inWidth, (k) => x[n * inWidth + k]! * weight[o * inWidth + k]!) +
        (test.residual ? residual[n * outWidth + o]! : 0));
    case "inputGradient":
      return fill(rows, inWidth, (n, i) => sum(outWidth, (k) => dy[n * outWidth + k]! * weight[k * inWidth + i]!));
    case "weightGradient":
      return fill(
        outWidth,
        inWidth,
        (o, i) => sum(rows, (k) => dy[k * outWidth + o]! * x[k * inWidth + i]!) + weightGradient[o * inWidth + i]!,
      );
  }
}

async function computed({ gpu, kernels }: GpuSupport, test: Case, gemm: GemmChoice): Promise<Float32Array> {
  const ops = new Ops(kernels, { ...softwareKernels, gemm });
  const buffers = new StageBuffers(gpu);
  buffers.reserveStaging(1 << 16);
  const load = (name: string, values: Float32Array) => {
    const range = buffers.storage(name, values.length);
    buffers.upload(range, values);
    return range;
  };
  const { rows, inWidth, outWidth } = test;
  const values = operands(test);
  const input = load("x", values.x);
  const weight = load("weight", values.weight);
  const outputGradient = load("dy", values.dy);
  const run = (dispatch: ReturnType<Ops["linear"]>, output: typeof input, count: number) => {
    kernels.run([dispatch]);
    return buffers.readFloats(output, count);
  };
  try {
    switch (test.kind) {
      case "forward": {
        const output = buffers.storage("y", rows * outWidth);
        const residual = test.residual ? load("residual", values.residual) : undefined;
        return await run(ops.linear(test, { input, weight, output, residual }), output, rows * outWidth);
      }
      case "inputGradient": {
        const inputGradient = buffers.storage("dx", rows * inWidth);
        const dispatch = ops.linearInputGradient(test, { outputGradient, weight, inputGradient });
        return await run(dispatch, inputGradient, rows * inWidth);
      }
      case "weightGradient": {
        const weightGradient = load("dW", values.weightGradient);
        const dispatch = ops.linearWeightGradient(test, { outputGradient, input, weightGradient });
        return await run(dispatch, weightGradient, outWidth * inWidth);
      }
    }
  } finally {
    buffers.destroy();
  }
}

const name = ({ kind, rows, inWidth, outWidth, residual }: Case) =>
  `${kind} of ${rows} rows, ${inWidth} to ${outWidth}${residual ? ", with residual" : ""}`;

for (const [family, settings] of Object.entries({ direct: softwareGemm, shared: hardwareGemm })) {
  gpuTest(`Gemm: the ${family} kernels agree with a plain loop on shapes that fill no tile`, async (support) => {
    for (const test of cases) {
      const want = expected(test);
      const got = await computed(support, test, settings);
      assertEquals(got.length, want.length);
      got.forEach((value, i) => {
        const error = Math.abs(value - want[i]!);
        assert(error < 1e-4, `${name(test)}: element ${i} is ${value} instead of ${want[i]}`);
      });
    }
  });
}

Deno.test("Gemm: a product takes the largest tile that fills a device, and the smallest where none does", () => {
  const [large, , middle, small] = hardwareGemm.forward; // the second is the first for devices of little memory
  const of = (rows: number, columns: number) => settingsFor(hardwareGemm.forward, { rows, columns });
  assertEquals([of(4096, 4096), of(2048, 2048)], [large, large]); // 1024 and 256 workgroups of 128 x 128
  assertEquals([of(2048, 1920), of(1024, 1024)], [middle, middle]); // 240 of them; 256 of 64 x 64
  assertEquals([of(1024, 960), of(4, 4)], [small, small]);
});

gpuTest("Gemm: every tile and family gives the same bits", async (support) => {
  const tiles: GemmSettings[] = [
    { family: "shared", lanesX: 8, lanesY: 8, depth: 8, rows: 4, columnVectors: 1 },
    { family: "direct", lanes: 8, rows: 4, columnVectors: 1 },
    ...hardwareGemm.forward,
    { family: "shared", lanesX: 16, lanesY: 4, depth: 8, rows: 8, columnVectors: 2 },
    { family: "shared", lanesX: 16, lanesY: 4, depth: 8, rows: 8, columnVectors: 2, sums: "scalars" },
  ];
  for (const test of isWhole ? cases : firstOfKind) {
    const first = await computed(support, test, softwareGemm);
    for (const tile of isWhole ? tiles : tiles.slice(0, 3)) {
      assertEquals(await computed(support, test, sameForAll(tile)), first, name(test));
    }
  }
});
