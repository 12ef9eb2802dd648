/**
 * The softmax of causal attention, on strips (4, columns) with rows `rowBytes` apart. Columns are multiples of 8;
 * forbidden ones become 0.
 */

import { type Expression, f32, f32x4, i32, v128 } from "../wasm/expressions.ts";
import { floats, type FunctionBuilder, integers, type Local } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { forVectors } from "./elementwise.ts";
import { exponential, logarithm, maxOfLanes, splat, sumOfLanes } from "./math.ts";

type V128 = Expression<"v128">;

export function addAttention(module: ModuleBuilder): void {
  addSoftmax(module);
  addQueryGradient(module);
  addKeyGradient(module);
}

/** The column of each lane of the vector at a byte offset. */
function columnsAt(f: FunctionBuilder, offset: Local<"i32">): Local<"v128"> {
  const start = f32x4.splat(f32.ofInteger(i32.shiftRight(offset, i32.of(2))));
  return f.let(f32x4.add(start, laneNumbers()));
}

function laneNumbers(): V128 {
  return f32x4.ofIntegers({ type: "v128", bytes: [0xfd, 0x0c, ...[0, 1, 2, 3].flatMap((lane) => [lane, 0, 0, 0])] });
}

const where = (mask: V128, value: V128): V128 => v128.and(value, mask);

/**
 * Scores of queries `first` to `first` + 3 become probabilities; `sums` gets ln(sum(e^score)). Query i sees columns 0
 * to first + i.
 */
function addSoftmax(module: ModuleBuilder): void {
  const signature = { ...integers("scores", "sums", "rows", "bytes", "rowBytes", "first"), ...floats("scale") };
  module.function("softmax", signature, (f, p) => {
    const { scores, sums, rows, bytes, rowBytes, first, scale } = p;
    const [largest, sum, isSeen] = [f.local("v128"), f.local("v128"), f.local("v128")];
    f.for({ below: rows }, () => {
      const last = f.let(f32x4.splat(f32.ofInteger(first)));
      f.set(largest, splat(-Infinity));
      forVectors(f, bytes, (offset) => {
        const at = f.let(i32.add(scores, offset));
        f.set(isSeen, f32x4.isBelow(columnsAt(f, offset), f32x4.add(last, splat(1))));
        const score = f.let(f32x4.mul(v128.load(at), f32x4.splat(scale)));
        f.set(score, v128.select(score, splat(-Infinity), isSeen));
        f.run(v128.store(at, score));
        f.set(largest, f32x4.max(largest, score));
      });
      const most = maxOfLanes(f, largest);
      f.set(sum, v128.zero());
      forVectors(f, bytes, (offset) => {
        const at = f.let(i32.add(scores, offset));
        const power = exponential(f, f32x4.sub(v128.load(at), most));
        f.run(v128.store(at, power));
        f.set(sum, f32x4.add(sum, power));
      });
      const total = sumOfLanes(f, sum);
      f.run(f32.store(sums, f32x4.lane(f32x4.add(most, logarithm(f, total)), 0)));
      const inverse = f.let(f32x4.div(splat(1), total));
      forVectors(f, bytes, (offset) => {
        const at = f.let(i32.add(scores, offset));
        f.run(v128.store(at, f32x4.mul(v128.load(at), inverse)));
      });
      f.set(scores, i32.add(scores, rowBytes));
      f.set(sums, i32.add(sums, i32.of(4)));
      f.set(first, i32.add(first, i32.of(1)));
    });
  });
}

/** Scores become dL/d(score): p (dp - delta) scale. */
function addQueryGradient(module: ModuleBuilder): void {
  const signature = {
    ...integers("scores", "products", "sums", "deltas", "rows", "bytes", "rowBytes", "first"),
    ...floats("scale"),
  };
  module.function("queryGradient", signature, (f, p) => {
    const { scores, products, sums, deltas, rows, bytes, rowBytes, first, scale } = p;
    f.for({ below: rows }, () => {
      const last = f.let(f32x4.splat(f32.ofInteger(first)));
      const sum = f.let(f32x4.loadSplat(sums));
      const delta = f.let(f32x4.loadSplat(deltas));
      forVectors(f, bytes, (offset) => {
        const at = f.let(i32.add(scores, offset));
        const isSeen = f.let(f32x4.isBelow(columnsAt(f, offset), f32x4.add(last, splat(1))));
        const power = exponential(f, f32x4.sub(f32x4.mul(v128.load(at), f32x4.splat(scale)), sum));
        const slope = f32x4.mul(f32x4.sub(v128.load(i32.add(products, offset)), delta), f32x4.splat(scale));
        f.run(v128.store(at, where(isSeen, f32x4.mul(power, slope))));
      });
      for (const each of [scores, products]) f.set(each, i32.add(each, rowBytes));
      for (const each of [sums, deltas]) f.set(each, i32.add(each, i32.of(4)));
      f.set(first, i32.add(first, i32.of(1)));
    });
  });
}

/**
 * The same of four keys, a column per query; products become probabilities. Key i is at `first` + i and seen by queries
 * from there to `length` - 1.
 */
function addKeyGradient(module: ModuleBuilder): void {
  const signature = {
    ...integers("scores", "products", "sums", "deltas", "rows", "from", "bytes", "rowBytes", "first", "length"),
    ...floats("scale"),
  };
  module.function("keyGradient", signature, (f, p) => {
    const { scores, products, sums, deltas, rows, from, bytes, rowBytes, first, length, scale } = p;
    const end = f.let(f32x4.splat(f32.ofInteger(length)));
    f.for({ below: rows }, () => {
      const own = f.let(f32x4.splat(f32.ofInteger(first)));
      f.for({ from, below: bytes, by: 16 }, (offset) => {
        const at = f.let(i32.add(scores, offset));
        const product = f.let(i32.add(products, offset));
        const columns = columnsAt(f, offset);
        const isSeen = f.let(v128.and(f32x4.isAbove(columns, f32x4.sub(own, splat(1))), f32x4.isBelow(columns, end)));
        const lowered = f32x4.sub(f32x4.mul(v128.load(at), f32x4.splat(scale)), v128.load(i32.add(sums, offset)));
        const power = f.let(where(isSeen, exponential(f, lowered)));
        const lessDelta = f32x4.sub(v128.load(product), v128.load(i32.add(deltas, offset)));
        const slope = f32x4.mul(lessDelta, f32x4.splat(scale));
        f.run(v128.store(at, where(isSeen, f32x4.mul(power, slope))));
        f.run(v128.store(product, power));
      });
      for (const each of [scores, products]) f.set(each, i32.add(each, rowBytes));
      f.set(first, i32.add(first, i32.of(1)));
    });
  });
}
