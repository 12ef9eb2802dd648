/**
 * Muon's step of one matrix against the reference at shapes that fill no tile and no block, and its products of symmetric
 * matrices against whole ones, bit by bit.
 */

import { assert, assertEquals } from "@std/assert";
import type { ParameterTable } from "../../core/model/spec.ts";
import { Gemm, gemmFloats, type Operand } from "../../gpu/cpu/layout/gemm.ts";
import { cpuKernels } from "../../gpu/cpu/kernels/cpu_kernels.ts";
import { CpuMemory } from "../../gpu/cpu/layout/memory.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { relativeL2 } from "../conformance/compute_world.ts";
import { noise } from "../support/finite_difference.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import {
  type Stepped,
  steppedByGpu,
  steppedByProcessor,
  steppedByReference,
  type StepRun,
} from "../support/optimizer_steps.ts";
import { isWhole } from "../support/whole.ts";

const shapes = [[4, 128], [128, 4], [4, 16], [20, 132], [132, 20], [68, 68], [64, 12], [260, 36]] as const;
const fewShapes = shapes.slice(2, 6); // a GPU compiles kernels for each
const beyondOneBlock = [[148, 532], [532, 140]] as const; // of the processor's product

const options = {
  ...{ learningRate: 0.02, gradientScale: 0.25, weightDecay: 0.1 },
  ...{ beta1: 0.9, beta2: 0.95, epsilon: 1e-8 },
};

function runOf([rows, columns]: readonly [number, number]): StepRun {
  const size = rows * columns;
  const initial = { type: "ones" } as const;
  const tensor = { name: "matrix", shape: [rows, columns], offset: 0, size, initial };
  const table: ParameterTable = { tensors: [tensor], decayLength: size, length: size };
  const values = (label: string) => Float32Array.from(noise(label, size, 0.1));
  const steps = ["first", "second"].map((label) => ({ options, gradients: values(label) }));
  return { optimizer: "muon", table, parameters: values("start"), steps };
}

function assertSame(run: StepRun, stepped: Stepped): void {
  const expected = steppedByReference(run);
  const [rows, columns] = run.table.tensors[0]!.shape;
  const change = ({ parameters }: Stepped) => parameters.map((value, i) => value - run.parameters[i]!);
  const error = relativeL2(change(stepped), change(expected));
  assert(error <= 2e-4, `(${rows}, ${columns}): the change is ${error} off`);
  assert(relativeL2(stepped.state.momentum!, expected.state.momentum!) <= 1e-6, `(${rows}, ${columns}): momentum`);
}

Deno.test("Muon: wide, tall and square matrices of any sides step on the processor as in the reference", () => {
  for (const shape of [...shapes, ...beyondOneBlock]) assertSame(runOf(shape), steppedByProcessor(runOf(shape)));
});

for (const [name, settings] of Object.entries({ softwareKernels, hardwareKernels })) {
  gpuTest(
    `Muon: wide, tall and square matrices of any sides step on a GPU with ${name} as in the reference`,
    async (support) => {
      for (const shape of isWhole ? shapes : fewShapes) {
        assertSame(runOf(shape), await steppedByGpu(runOf(shape), { ...support, settings }));
      }
    },
  );
}

Deno.test("CPU product: the mirrored lower half of a Gram matrix has the bits of the whole product", () => {
  for (const [side, depth] of [[4, 128], [68, 20], [128, 384], [548, 260]] as const) {
    for (const layout of ["lines", "rows"] as const) {
      const memory = new CpuMemory();
      const kernels = cpuKernels(memory.memory);
      const gemm = new Gemm(kernels, memory.scratch("panels", gemmFloats).offset);
      const matrix = memory.storage("matrix", side * depth);
      memory.upload(matrix, Float32Array.from(noise("matrix", side * depth)));
      const rowBytes = 4 * (layout === "lines" ? depth : side);
      const a: Operand = { address: matrix.offset, rowBytes, layout };
      const [whole, half] = [memory.storage("whole", side * side), memory.storage("half", side * side)];
      const c = { address: whole.offset, rowBytes: 4 * side };
      gemm.multiply({ a, b: a, c, rows: side, columns: side, depth, adds: false });
      gemm.multiplyLower({ a, b: a, c: half.offset, side, depth, from: 0, to: side });
      kernels.mirror(half.offset, 0, side, side);
      assertEquals(memory.floats(half), memory.floats(whole), `side ${side}, depth ${depth}, ${layout}`);
    }
  }
});
