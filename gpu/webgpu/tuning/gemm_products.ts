/** The products of one shape on a device: built with any setting, and compared with the plain product. */

import type { LinearSizes } from "../../stage_ops.ts";
import { StageBuffers } from "../buffers.ts";
import type { GpuDevice } from "../device.ts";
import { gemm } from "../gemm_ops.ts";
import { type GemmKind, type GemmSettings, sameForAll } from "../generate/gemm_settings.ts";
import { type GpuDispatch, Kernels } from "../kernel.ts";
import { naiveGemm } from "./naive_gemm.ts";

export type Product = readonly GpuDispatch[];

export interface GemmProducts {
  /** Compiled. It overwrites what it computed before. */
  built(of: { kind: GemmKind; settings: GemmSettings }): Promise<Product>;
  /** Whether all bits are those of the plain product. */
  isExact(of: { kind: GemmKind; settings: GemmSettings }): Promise<boolean>;
  close(): void;
}

export function openProducts(gpu: GpuDevice, { rows, inWidth, outWidth }: LinearSizes): GemmProducts {
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  const shapes = {
    forward: { rows, columns: outWidth, depth: inWidth },
    inputGradient: { rows, columns: inWidth, depth: outWidth },
    weightGradient: { rows: outWidth, columns: inWidth, depth: rows },
  };
  const counts = { x: rows * inWidth, w: outWidth * inWidth, y: rows * outWidth };
  const most = Math.max(...Object.values(counts));
  buffers.reserveStaging(Math.min(4 * most, 1 << 22));
  const [x, w, y, c] = [
    ...Object.entries(counts).map(([label, count], i) => {
      const range = buffers.storage(label, count);
      // Every value has bits of its own, so that a wrong address shows; sums stay small.
      buffers.upload(range, Float32Array.from({ length: count }, (_, at) => Math.sin(1 + i + at * 0.7310585)));
      return range;
    }),
    buffers.storage("c", most),
  ] as const;
  if (x === undefined || w === undefined || y === undefined || c === undefined) {
    throw new Error("four ranges were made");
  }
  const operands = { forward: [x, w], inputGradient: [y, w], weightGradient: [y, x] } as const;
  const built = async ({ kind, settings }: { kind: GemmKind; settings: GemmSettings }) => {
    const [a, b] = operands[kind];
    const bindings = kind === "forward" ? [a, b, c, a] : [a, b, c]; // nothing is added: the residual is not read
    const dispatch = gemm({ kernels, choice: sameForAll(settings) }, kind, { ...shapes[kind], bindings, adds: false });
    await kernels.warmUp();
    return [dispatch];
  };
  const computed = async (program: Product, count: number): Promise<Uint32Array> => {
    kernels.run(program);
    return new Uint32Array((await buffers.readFloats(c, count)).buffer);
  };
  return {
    built,
    isExact: async ({ kind, settings }) => {
      const { rows, columns } = shapes[kind];
      const [a, b] = operands[kind];
      const plain = naiveGemm(kernels, kind, { ...shapes[kind], bindings: [a, b, c] });
      await kernels.warmUp();
      const expected = await computed([plain], rows * columns);
      const found = await computed(await built({ kind, settings }), rows * columns);
      return expected.every((bits, i) => bits === found[i]);
    },
    close: () => buffers.destroy(),
  };
}
