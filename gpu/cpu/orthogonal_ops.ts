/**
 * Muon's operations on the processor (../optimizers/orthogonal_ops.ts has their contract). Symmetric products compute the lower
 * half and copy it.
 */

import type { MatrixSizes, OrthogonalOps, Polynomial } from "../optimizers/orthogonal_ops.ts";
import type { BufferRange } from "../stage_ops.ts";
import { type CpuDispatch, kernelDispatch } from "./cpu_dispatch.ts";
import { Gemm, type Operand } from "./gemm.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuMemory } from "./memory.ts";

export class CpuOrthogonalOps implements OrthogonalOps {
  readonly #kernels: CpuKernels;
  readonly #gemm: Gemm;

  constructor(memory: CpuMemory, kernels: CpuKernels) {
    this.#kernels = kernels;
    this.#gemm = new Gemm(memory, kernels);
  }

  nesterov(
    { count, decay }: { count: number; decay: number },
    tensors: { gradient: BufferRange; momentum: BufferRange; direction: BufferRange; numbers: BufferRange },
  ): CpuDispatch {
    const { gradient, momentum, direction, numbers } = tensors;
    return this.#call("nesterov", [gradient, momentum, direction, numbers], [4 * count, decay]);
  }

  gram(
    { rows, columns }: MatrixSizes,
    { matrix, output }: { matrix: BufferRange; output: BufferRange },
  ): CpuDispatch[] {
    const isTall = rows > columns;
    const operand: Operand = { address: matrix.offset, rowBytes: 4 * columns, layout: isTall ? "rows" : "lines" };
    const [side, depth] = isTall ? [columns, rows] : [rows, columns];
    return [this.#symmetric({ side, depth, a: operand, b: operand, output })];
  }

  symmetricProduct(
    side: number,
    { a, b, output }: { a: BufferRange; b: BufferRange; output: BufferRange },
  ): CpuDispatch[] {
    const lines = ({ offset }: BufferRange): Operand => ({ address: offset, rowBytes: 4 * side, layout: "lines" });
    return [this.#symmetric({ side, depth: side, a: lines(a), b: lines(b), output })];
  }

  unitTrace(
    { side, epsilon }: { side: number; epsilon: number },
    { matrix, inverse }: { matrix: BufferRange; inverse: BufferRange },
  ): CpuDispatch[] {
    return [this.#call("unitTrace", [matrix, inverse], [side, epsilon])];
  }

  polynomial(
    { side, a, b, c }: Polynomial & { side: number },
    { matrix, square }: { matrix: BufferRange; square: BufferRange },
  ): CpuDispatch {
    return this.#call("polynomial", [matrix, square], [side, a, b, c]);
  }

  descend(
    { count, scale }: { count: number; scale: number },
    tensors: { parameters: BufferRange; change: BufferRange; inverse: BufferRange; numbers: BufferRange },
  ): CpuDispatch {
    const { parameters, change, inverse, numbers } = tensors;
    return this.#call("descend", [parameters, change, inverse, numbers], [4 * count, scale]);
  }

  #symmetric(
    { side, depth, a, b, output }: { side: number; depth: number; a: Operand; b: Operand; output: BufferRange },
  ): CpuDispatch {
    const run = () => {
      this.#gemm.multiplyLower({ a, b, side, depth, c: output.offset });
      this.#kernels.mirror(output.offset, side);
    };
    return { label: "symmetric product", run };
  }

  #call(name: keyof CpuKernels, ranges: readonly BufferRange[], numbers: readonly number[]): CpuDispatch {
    return kernelDispatch(this.#kernels, { name, ranges, numbers });
  }
}
