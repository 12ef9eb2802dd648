/** Symmetric products compute the lower half and copy it. */

import type { MatrixSizes, OrthogonalOps, Polynomial } from "../optimizers/orthogonal_ops.ts";
import type { BufferRange } from "../stage_ops.ts";
import { type CpuDispatch, jobDispatch, kernelDispatch } from "./cpu_dispatch.ts";
import type { Operand } from "./layout/gemm.ts";
import type { Job } from "./jobs/job.ts";
import { kernelJob } from "./jobs/kernel_job.ts";
import { type LowerProduct, lowerProductJob } from "./jobs/product_jobs.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import type { Team } from "./threads/team.ts";

const bytesOfUnit = 4096; // of a vector
const unitNs = 2_000;
const mirroredRows = 4; // its blocks' side

export class CpuOrthogonalOps implements OrthogonalOps {
  readonly #team: Team;

  constructor(team: Team) {
    this.#team = team;
  }

  nesterov(
    { count, decay }: { count: number; decay: number },
    tensors: { gradient: BufferRange; momentum: BufferRange; direction: BufferRange; numbers: BufferRange },
  ): CpuDispatch {
    const { gradient, momentum, direction, numbers } = tensors;
    return this.#bytes("nesterov", {
      ...{ vectors: [gradient, momentum, direction], numbers: [numbers], count, rest: [decay] },
    });
  }

  gram(
    { rows, columns }: MatrixSizes,
    { matrix, output }: { matrix: BufferRange; output: BufferRange },
  ): CpuDispatch[] {
    const isTall = rows > columns;
    const operand: Operand = { address: matrix.offset, rowBytes: 4 * columns, layout: isTall ? "rows" : "lines" };
    const [side, depth] = isTall ? [columns, rows] : [rows, columns];
    return this.#symmetric({ side, depth, a: operand, b: operand, c: output.offset });
  }

  symmetricProduct(
    side: number,
    { a, b, output }: { a: BufferRange; b: BufferRange; output: BufferRange },
  ): CpuDispatch[] {
    const lines = ({ offset }: BufferRange): Operand => ({ address: offset, rowBytes: 4 * side, layout: "lines" });
    return this.#symmetric({ side, depth: side, a: lines(a), b: lines(b), c: output.offset });
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
    return this.#bytes("descend", {
      ...{ vectors: [parameters, change], numbers: [inverse, numbers], count, rest: [scale] },
    });
  }

  #symmetric(product: LowerProduct): CpuDispatch[] {
    const { c, side } = product;
    const mirror = kernelJob({
      name: "mirror",
      moving: [[c, 0], [0, mirroredRows]],
      ...{ count: { total: side, ofUnit: mirroredRows }, rest: [side], unitNs: 2 * side },
    });
    return [this.#share("symmetric product", lowerProductJob(product)), this.#share("mirror", mirror)];
  }

  #bytes(
    name: "nesterov" | "descend",
    { vectors, numbers, count, rest }: {
      readonly vectors: readonly BufferRange[];
      readonly numbers: readonly BufferRange[];
      readonly count: number;
      readonly rest: readonly number[];
    },
  ): CpuDispatch {
    const moving = [
      ...vectors.map(({ offset }) => [offset, bytesOfUnit] as const),
      ...numbers.map(({ offset }) => [offset, 0] as const),
    ];
    return this.#share(
      name,
      kernelJob({ name, moving, count: { total: 4 * count, ofUnit: bytesOfUnit }, rest, unitNs }),
    );
  }

  #share(label: string, job: Job): CpuDispatch {
    return jobDispatch(this.#team, label, job);
  }

  #call(name: keyof CpuKernels, ranges: readonly BufferRange[], numbers: readonly number[]): CpuDispatch {
    return kernelDispatch(this.#team, { name, ranges, numbers });
  }
}
