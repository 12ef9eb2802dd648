/**
 * Products of a few rows: y (rows, columns) = x Wᵀ or += with `adds` 1. Panels would cost more than the product, so each
 * row of W is read once, where it lies, for up to four rows of x.
 */

import { f32, f32x4, i32, v128 } from "../wasm/expressions.ts";
import { integers } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { forVectors } from "./elementwise.ts";
import { sumOfLanes } from "./math.ts";

export const thinRows = 4; // of one call

export function addThin(module: ModuleBuilder): void {
  const signature = integers("x", "w", "y", "rows", "columns", "bytes", "xRowBytes", "yRowBytes", "adds");
  module.function("thinProduct", signature, (f, { x, w, y, rows, columns, bytes, xRowBytes, yRowBytes, adds }) => {
    // Beyond the last row, the last one again: it is computed and stored twice, to the same bits.
    const ofRow = Array.from({ length: thinRows }, (_, r) => {
      const row = f.let(i32.of(r));
      f.if(i32.isBelow(i32.sub(rows, i32.of(1)), row), () => f.set(row, i32.sub(rows, i32.of(1))));
      return {
        from: f.let(i32.add(x, i32.mul(row, xRowBytes))),
        to: f.let(i32.add(y, i32.mul(row, yRowBytes))),
        sum: f.local("v128"),
        value: f.local("f32"),
      };
    });
    const weights = f.local("v128");
    f.for({ below: columns }, () => {
      for (const { sum } of ofRow) f.set(sum, v128.zero());
      forVectors(f, bytes, (offset) => {
        f.set(weights, v128.load(i32.add(w, offset)));
        for (const { from, sum } of ofRow) {
          f.set(sum, f32x4.add(sum, f32x4.mul(weights, v128.load(i32.add(from, offset)))));
        }
      });
      for (const { to, sum, value } of ofRow) {
        f.set(value, f32x4.lane(sumOfLanes(f, sum), 0));
        f.if(adds, () => f.set(value, f32.add(value, f32.load(to))));
      }
      for (const { to, value } of ofRow) f.run(f32.store(to, value));
      for (const { to } of ofRow) f.set(to, i32.add(to, i32.of(4)));
      f.set(w, i32.add(w, bytes));
    });
  });
}
