/**
 * Kernels of Muon's step (formulas: gpu/optimizers/orthogonal_ops.ts). Sizes in bytes are multiples of 16, sides of 4.
 */

import { type Expression, f32, f32x4, i32, v128 } from "../wasm/expressions.ts";
import { floats, integers } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { forVectors } from "./elementwise.ts";
import { transposed } from "./gemm_kernels.ts";

type I32 = Expression<"i32">;
const fourTimes = (a: I32): I32 => i32.shiftLeft(a, i32.of(2));

export function addMuon(module: ModuleBuilder): void {
  addNesterov(module);
  addUnitTrace(module);
  addPolynomial(module);
  addMirror(module);
  addDescend(module);
}

function addNesterov(module: ModuleBuilder): void {
  const signature = { ...integers("gradient", "momentum", "direction", "numbers", "bytes"), ...floats("decay") };
  module.function("nesterov", signature, (f, { gradient, momentum, direction, numbers, bytes, decay }) => {
    const scale = f.let(f32x4.loadSplat(numbers));
    const kept = f.let(f32x4.splat(decay));
    const [g, m] = [f.local("v128"), f.local("v128")];
    forVectors(f, bytes, (offset) => {
      f.set(g, f32x4.mul(v128.load(i32.add(gradient, offset)), scale));
      f.set(m, f32x4.add(f32x4.mul(kept, v128.load(i32.add(momentum, offset))), g));
      f.run(v128.store(i32.add(momentum, offset), m));
      f.run(v128.store(i32.add(direction, offset), f32x4.add(g, f32x4.mul(kept, m))));
      f.run(v128.store(i32.add(gradient, offset), v128.zero()));
    });
  });
}

function addUnitTrace(module: ModuleBuilder): void {
  const signature = { ...integers("matrix", "inverse", "side"), ...floats("epsilon") };
  module.function("unitTrace", signature, (f, { matrix, inverse, side, epsilon }) => {
    const trace = f.let(f32.of(0));
    const next = f.let(fourTimes(i32.add(side, i32.of(1))));
    f.for({ below: side }, (i) => {
      f.set(trace, f32.add(trace, f32.load(i32.add(matrix, i32.mul(i, next)))));
    });
    const found = f.let(f32.div(f32.of(1), f32.add(f32.sqrt(trace), epsilon)));
    f.run(f32.store(inverse, found));
    const square = f.let(f32x4.splat(f32.mul(found, found)));
    forVectors(f, fourTimes(i32.mul(side, side)), (offset) => {
      const at = f.let(i32.add(matrix, offset));
      f.run(v128.store(at, f32x4.mul(v128.load(at), square)));
    });
  });
}

function addPolynomial(module: ModuleBuilder): void {
  const signature = { ...integers("matrix", "square", "side"), ...floats("a", "b", "c") };
  module.function("polynomial", signature, (f, { matrix, square, side, a, b, c }) => {
    const [first, second] = [f.let(f32x4.splat(b)), f.let(f32x4.splat(c))];
    forVectors(f, fourTimes(i32.mul(side, side)), (offset) => {
      const at = f.let(i32.add(square, offset));
      const linear = f32x4.mul(first, v128.load(i32.add(matrix, offset)));
      f.run(v128.store(at, f32x4.add(linear, f32x4.mul(second, v128.load(at)))));
    });
    const next = f.let(fourTimes(i32.add(side, i32.of(1))));
    f.for({ below: side }, () => {
      f.run(f32.store(square, f32.add(f32.load(square), a)));
      f.set(square, i32.add(square, next));
    });
  });
}

/** The lower half of `rows` rows onto the upper one, in blocks of 4 x 4. */
function addMirror(module: ModuleBuilder): void {
  module.function("mirror", integers("matrix", "first", "rows", "side"), (f, { matrix, first, rows, side }) => {
    const rowBytes = f.let(fourTimes(side));
    const at = (row: I32, column: I32): I32 => i32.add(matrix, i32.add(i32.mul(row, rowBytes), fourTimes(column)));
    const end = f.let(i32.add(first, rows));
    f.for({ from: first, below: end, by: 4 }, (row) => {
      f.for({ below: row, by: 4 }, (column) => {
        const from = f.let(at(row, column));
        const lines = [0, 1, 2, 3].map((r) => f.let(v128.load(i32.add(from, i32.mul(rowBytes, i32.of(r))))));
        const to = f.let(at(column, row));
        transposed(f, lines).forEach((line, r) => {
          f.run(v128.store(i32.add(to, i32.mul(rowBytes, i32.of(r))), line));
        });
      });
      for (let r = 0; r < 4; r++) {
        for (let c = 0; c < r; c++) {
          const [low, high] = [i32.add(row, i32.of(r)), i32.add(row, i32.of(c))];
          f.run(f32.store(at(high, low), f32.load(at(low, high))));
        }
      }
    });
  });
}

function addDescend(module: ModuleBuilder): void {
  const signature = { ...integers("parameters", "change", "inverse", "numbers", "bytes"), ...floats("scale") };
  module.function("descend", signature, (f, { parameters, change, inverse, numbers, bytes, scale }) => {
    const length = f32.mul(f32.mul(f32.load(numbers, 4), scale), f32.load(inverse));
    const rate = f.let(f32x4.splat(length));
    const decay = f.let(f32x4.loadSplat(numbers, 8));
    const p = f.local("v128");
    forVectors(f, bytes, (offset) => {
      const at = f.let(i32.add(parameters, offset));
      f.set(p, v128.load(at));
      const step = f32x4.mul(rate, v128.load(i32.add(change, offset)));
      f.run(v128.store(at, f32x4.sub(p, f32x4.add(step, f32x4.mul(decay, p)))));
    });
  });
}
