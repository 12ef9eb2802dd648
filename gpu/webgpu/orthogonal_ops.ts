/** Symmetric products compute the tiles that reach the lower half and copy it. */

import type { MatrixSizes, OrthogonalOps, Polynomial } from "../optimizers/orthogonal_ops.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import { gemm, type GemmOptions } from "./gemm_ops.ts";
import type { GemmKind } from "./generate/gemm_settings.ts";
import { floatBits, groupsPerRow, workgroupGrid } from "./kernel.ts";
import type { Ops } from "./ops.ts";
import descend from "./wgsl/muon/descend.wgsl" with { type: "text" };
import inverseNorm from "./wgsl/muon/inverse_norm.wgsl" with { type: "text" };
import mirror from "./wgsl/muon/mirror.wgsl" with { type: "text" };
import nesterov from "./wgsl/muon/nesterov.wgsl" with { type: "text" };
import polynomial from "./wgsl/muon/polynomial.wgsl" with { type: "text" };
import toUnitTrace from "./wgsl/muon/to_unit_trace.wgsl" with { type: "text" };

const flatLanes = 64; // workgroup size over flat ranges
const squareLanes = 32; // workgroup size over rows of a square

export class GpuOrthogonalOps implements OrthogonalOps {
  readonly #ops: Ops;

  constructor(ops: Ops) {
    this.#ops = ops;
  }

  nesterov(
    { count, decay }: { count: number; decay: number },
    tensors: { gradient: BufferRange; momentum: BufferRange; direction: BufferRange; numbers: BufferRange },
  ): Dispatch {
    const { gradient, momentum, direction, numbers } = tensors;
    const bindings = [gradient, momentum, direction, numbers];
    return this.#flat({ label: "nesterov", source: nesterov }, { count, bindings, constants: [floatBits(decay)] });
  }

  gram({ rows, columns }: MatrixSizes, { matrix, output }: { matrix: BufferRange; output: BufferRange }): Dispatch[] {
    const isTall = rows > columns;
    const sizes = isTall ? { side: columns, depth: rows } : { side: rows, depth: columns };
    return this.#symmetric(isTall ? "weightGradient" : "forward", { ...sizes, a: matrix, b: matrix, output });
  }

  symmetricProduct(
    side: number,
    tensors: { a: BufferRange; b: BufferRange; output: BufferRange },
  ): Dispatch[] {
    return this.#symmetric("forward", { side, depth: side, ...tensors });
  }

  unitTrace(
    { side, epsilon }: { side: number; epsilon: number },
    { matrix, inverse }: { matrix: BufferRange; inverse: BufferRange },
  ): Dispatch[] {
    const bindings = [matrix, inverse];
    return [
      this.#ops.kernels.dispatch({
        kernel: { label: "inverse_norm", source: inverseNorm },
        bindings,
        constants: [side, floatBits(epsilon)],
        workgroups: [1],
      }),
      this.#flat({ label: "to_unit_trace", source: toUnitTrace }, { count: side * side, bindings, constants: [] }),
    ];
  }

  polynomial(
    { side, a, b, c }: Polynomial & { side: number },
    { matrix, square }: { matrix: BufferRange; square: BufferRange },
  ): Dispatch {
    return this.#ops.kernels.dispatch({
      kernel: { label: "polynomial", source: polynomial },
      bindings: [matrix, square],
      constants: [side / 4, floatBits(a), floatBits(b), floatBits(c)],
      workgroups: [Math.ceil(side / 4 / squareLanes), side],
    });
  }

  descend(
    { count, scale }: { count: number; scale: number },
    tensors: { parameters: BufferRange; change: BufferRange; inverse: BufferRange; numbers: BufferRange },
  ): Dispatch {
    const { parameters, change, inverse, numbers } = tensors;
    const bindings = [parameters, change, inverse, numbers];
    return this.#flat({ label: "descend", source: descend }, { count, bindings, constants: [floatBits(scale)] });
  }

  #symmetric(
    kind: Extract<GemmKind, "forward" | "weightGradient">,
    options: { side: number; depth: number; a: BufferRange; b: BufferRange; output: BufferRange },
  ): Dispatch[] {
    const { side, depth, a, b, output } = options;
    const { kernels, settings } = this.#ops;
    const operands = [a, b, output];
    const product: GemmOptions = {
      ...{ rows: side, columns: side, depth, adds: false, lowerOnly: true },
      bindings: kind === "forward" ? [...operands, a] : operands, // no residual: see Ops.linear
    };
    return [
      gemm({ kernels, choice: settings.gemm }, kind, product),
      kernels.dispatch({
        kernel: { label: "mirror", source: mirror },
        bindings: [output],
        constants: [side / 4],
        workgroups: [Math.ceil(side / 4 / squareLanes), side / 4],
      }),
    ];
  }

  /** Constants begin with the range. */
  #flat(
    kernel: { label: string; source: string },
    { count, bindings, constants }: { count: number; bindings: BufferRange[]; constants: number[] },
  ): Dispatch {
    const groups = Math.ceil(count / 4 / flatLanes);
    return this.#ops.kernels.dispatch({
      kernel,
      bindings,
      constants: [count / 4, groupsPerRow, ...constants],
      workgroups: workgroupGrid(groups),
    });
  }
}
