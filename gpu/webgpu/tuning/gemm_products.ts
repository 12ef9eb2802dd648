/** The products of one shape with any setting. */

import type { BufferRange, LinearSizes } from "../../stage_ops.ts";
import { StageBuffers } from "../buffers.ts";
import type { GpuDevice } from "../device.ts";
import { gemm } from "../gemm_ops.ts";
import { type GemmKind, type GemmSettings, sameForAll } from "../generate/gemm_settings.ts";
import { type GpuDispatch, Kernels } from "../kernel.ts";

export type Product = readonly GpuDispatch[];

interface GemmProducts {
  /** Compiled. It overwrites its last result. */
  built(of: { kind: GemmKind; settings: GemmSettings }): Promise<Product>;
  /** Whether all bits are the plain product's. */
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
      // Every value has its own bits, so that a wrong address shows.
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

/** One invocation per output, one chain of `fma` over ascending K. */
interface NaiveProduct {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly bindings: readonly [a: BufferRange, b: BufferRange, c: BufferRange];
}

const at: Readonly<Record<GemmKind, readonly [a: string, b: string]>> = {
  forward: ["row * shape.depth + k", "column * shape.depth + k"],
  inputGradient: ["row * shape.depth + k", "k * shape.columns + column"],
  weightGradient: ["k * shape.rows + row", "k * shape.columns + column"],
};

const size = 8; // workgroup size in both directions

function source(kind: GemmKind): string {
  const [a, b] = at[kind];
  return `struct Shape { rows: u32, columns: u32, depth: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> shape: Shape;
@compute @workgroup_size(${size}, ${size}) fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let column = id.x;
  if (row >= shape.rows || column >= shape.columns) { return; }
  var sum = 0.0;
  for (var k = 0u; k < shape.depth; k++) { sum = fma(a[${a}], b[${b}], sum); }
  c[row * shape.columns + column] = sum;
}`;
}

function naiveGemm(
  kernels: Kernels,
  kind: GemmKind,
  { rows, columns, depth, bindings }: NaiveProduct,
): GpuDispatch {
  return kernels.dispatch({
    kernel: { label: `naive gemm ${kind}`, source: source(kind) },
    bindings,
    constants: [rows, columns, depth],
    workgroups: [Math.ceil(columns / size), Math.ceil(rows / size)],
  });
}
