/** The processor's matrix product against float64, at shapes that no tile and no block divides; its bits do not depend on blocks. */

import { assert, assertEquals } from "@std/assert";
import { Gemm, gemmFloats, type Operand } from "../../../gpu/cpu/layout/gemm.ts";
import { cpuKernels } from "../../../gpu/cpu/kernels/cpu_kernels.ts";
import { CpuMemory } from "../../../gpu/cpu/layout/memory.ts";
import { noise } from "../../support/finite_difference.ts";

type Layout = Operand["layout"];

interface Shape {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly a: Layout;
  readonly b: Layout;
  readonly adds: boolean;
}

const layouts = [["lines", "lines"], ["lines", "rows"], ["rows", "rows"]] as const;

/** Values at (outer, k) of an operand with `outer` rows or columns. */
const valueAt = (
  values: Float32Array,
  layout: Layout,
  at: { index: number; k: number; outer: number; depth: number },
) => values[layout === "lines" ? at.index * at.depth + at.k : at.k * at.outer + at.index]!;

function multiply({ rows, columns, depth, a, b, adds }: Shape) {
  const memory = new CpuMemory();
  const gemm = new Gemm(cpuKernels(memory.memory), memory.scratch("panels", gemmFloats).offset);
  const [valuesA, valuesB, start] = [noise("a", rows * depth), noise("b", columns * depth), noise("c", rows * columns)]
    .map((values) => Float32Array.from(values)) as [Float32Array, Float32Array, Float32Array];
  const place = (label: string, values: Float32Array) => {
    const range = memory.storage(label, values.length);
    memory.upload(range, values);
    return range;
  };
  const [inA, inB, inC] = [place("a", valuesA), place("b", valuesB), place("c", start)];
  gemm.multiply({
    a: { address: inA.offset, rowBytes: 4 * (a === "lines" ? depth : rows), layout: a },
    b: { address: inB.offset, rowBytes: 4 * (b === "lines" ? depth : columns), layout: b },
    c: { address: inC.offset, rowBytes: 4 * columns },
    ...{ rows, columns, depth, adds },
  });
  return { result: memory.floats(inC).slice(0, rows * columns), valuesA, valuesB, start };
}

/** The same chain of sums in float32, one output after the other. */
function chained(shape: Shape, { valuesA, valuesB, start }: Omit<ReturnType<typeof multiply>, "result">): Float32Array {
  const { rows, columns, depth, a, b, adds } = shape;
  return Float32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    let sum = adds ? start[i]! : 0;
    for (let k = 0; k < depth; k++) {
      const left = valueAt(valuesA, a, { index: row, k, outer: rows, depth });
      const right = valueAt(valuesB, b, { index: column, k, outer: columns, depth });
      sum = Math.fround(sum + Math.fround(left * right));
    }
    return sum;
  });
}

Deno.test("CPU product: every output is one chain of float32 sums in ascending depth, whatever the blocks and edges", () => {
  const shapes = [
    { rows: 1, columns: 4, depth: 4 },
    { rows: 3, columns: 12, depth: 8 },
    { rows: 4, columns: 8, depth: 2 * 256 }, // two blocks of depth
    { rows: 7, columns: 20, depth: 260 }, // edges in every direction
    { rows: 130, columns: 516, depth: 12 }, // two blocks of rows and columns
  ];
  for (const shape of shapes) {
    for (const [a, b] of layouts) {
      for (const adds of [false, true]) {
        const whole = { ...shape, a, b, adds };
        const { result, ...inputs } = multiply(whole);
        assertEquals(result, chained(whole, inputs), JSON.stringify(whole));
      }
    }
  }
});

Deno.test("CPU product: where both operands lie in rows, any depth will do", () => {
  for (const depth of [1, 3, 255, 257]) {
    const shape: Shape = { rows: 5, columns: 12, depth, a: "rows", b: "rows", adds: true };
    const { result, ...inputs } = multiply(shape);
    assertEquals(result, chained(shape, inputs), `depth ${depth}`);
  }
});

Deno.test("CPU product: NaN and infinity reach exactly the outputs they belong to", () => {
  const memory = new CpuMemory();
  const gemm = new Gemm(cpuKernels(memory.memory), memory.scratch("panels", gemmFloats).offset);
  const [a, b, c] = ["a", "b", "c"].map((label) => memory.storage(label, 36)) as [
    ...[ReturnType<CpuMemory["storage"]>, ReturnType<CpuMemory["storage"]>, ReturnType<CpuMemory["storage"]>],
  ];
  memory.upload(a, new Float32Array(20).fill(1).with(4 * 1, NaN)); // row 1 of (5, 4)
  memory.upload(b, new Float32Array(16).fill(1).with(4 * 2, Infinity)); // column 2 of (4, 4)
  const lines = (address: number): Operand => ({ address, rowBytes: 16, layout: "lines" });
  const to = { address: c.offset, rowBytes: 16 };
  gemm.multiply({ a: lines(a.offset), b: lines(b.offset), c: to, rows: 5, columns: 4, depth: 4, adds: false });
  const result = memory.floats(c);
  for (let row = 0; row < 5; row++) {
    for (let column = 0; column < 4; column++) {
      const value = result[4 * row + column]!;
      assert(Object.is(value, row === 1 ? NaN : column === 2 ? Infinity : 4), `${row}, ${column}: ${value}`);
    }
  }
});
