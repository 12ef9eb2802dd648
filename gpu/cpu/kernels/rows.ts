/** Kernels that reduce rows in a fixed order: four lanes over the row, then the lanes. */

import { f32, f32x4, i32, v128 } from "../wasm/expressions.ts";
import { floats, integers } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { forVectors } from "./elementwise.ts";
import { exponential, logarithm, maxOfLanes, splat, sumOfLanes } from "./math.ts";

export function addRowKernels(module: ModuleBuilder): void {
  addNorm(module);
  addNormBackward(module);
  addGainGradient(module);
  addCrossEntropy(module);
  addRowDot(module);
}

/** y = x g / sqrt(mean(x^2) + epsilon); keeps 1 / sqrt(…). */
function addNorm(module: ModuleBuilder): void {
  const signature = { ...integers("from", "gain", "to", "inverses", "rows", "bytes"), ...floats("share", "epsilon") };
  module.function("norm", signature, (f, { from, gain, to, inverses, rows, bytes, share, epsilon }) => {
    const [x, sum] = [f.local("v128"), f.local("v128")];
    f.for({ below: rows }, () => {
      f.set(sum, v128.zero());
      forVectors(f, bytes, (offset) => {
        f.set(x, v128.load(i32.add(from, offset)));
        f.set(sum, f32x4.add(sum, f32x4.mul(x, x)));
      });
      const mean = f32x4.mul(sumOfLanes(f, sum), f32x4.splat(share));
      const inverse = f.let(f32x4.div(splat(1), f32x4.sqrt(f32x4.add(mean, f32x4.splat(epsilon)))));
      f.run(f32.store(inverses, f32x4.lane(inverse, 0)));
      forVectors(f, bytes, (offset) => {
        const scaled = f32x4.mul(v128.load(i32.add(from, offset)), inverse);
        f.run(v128.store(i32.add(to, offset), f32x4.mul(scaled, v128.load(i32.add(gain, offset)))));
      });
      f.set(from, i32.add(from, bytes));
      f.set(to, i32.add(to, bytes));
      f.set(inverses, i32.add(inverses, i32.of(4)));
    });
  });
}

/** dx = inverse (g dy - x inverse^2 mean(g dy x)), or += with `adds` 1. */
function addNormBackward(module: ModuleBuilder): void {
  const signature = {
    ...integers("from", "gain", "inverses", "outGradient", "inGradient", "rows", "bytes", "adds"),
    ...floats("share"),
  };
  module.function("normBackward", signature, (f, p) => {
    const { from, gain, inverses, outGradient, inGradient, rows, bytes, share, adds } = p;
    const [sum, gradient] = [f.local("v128"), f.local("v128")];
    f.for({ below: rows }, () => {
      f.set(sum, v128.zero());
      const product = (offset: Parameters<Parameters<typeof forVectors>[2]>[0]) =>
        f32x4.mul(v128.load(i32.add(outGradient, offset)), v128.load(i32.add(gain, offset)));
      forVectors(f, bytes, (offset) => {
        f.set(sum, f32x4.add(sum, f32x4.mul(product(offset), v128.load(i32.add(from, offset)))));
      });
      const inverse = f.let(f32x4.loadSplat(inverses));
      const mean = f32x4.mul(sumOfLanes(f, sum), f32x4.splat(share));
      const pull = f.let(f32x4.mul(f32x4.mul(mean, inverse), inverse));
      forVectors(f, bytes, (offset) => {
        const pulled = f32x4.mul(v128.load(i32.add(from, offset)), pull);
        f.set(gradient, f32x4.mul(f32x4.sub(product(offset), pulled), inverse));
        const to = f.let(i32.add(inGradient, offset));
        f.if(adds, () => f.set(gradient, f32x4.add(gradient, v128.load(to))));
        f.run(v128.store(to, gradient));
      });
      for (const each of [from, outGradient, inGradient]) f.set(each, i32.add(each, bytes));
      f.set(inverses, i32.add(inverses, i32.of(4)));
    });
  });
}

/** dg += sum over rows of dy x inverse, for `bytes` of each row of `rowBytes`. */
function addGainGradient(module: ModuleBuilder): void {
  const signature = integers("from", "inverses", "outGradient", "gainGradient", "bytes", "rows", "rowBytes");
  module.function("gainGradient", signature, (f, p) => {
    const { from, inverses, outGradient, gainGradient, rows, bytes, rowBytes } = p;
    f.for({ below: rows }, () => {
      const inverse = f.let(f32x4.loadSplat(inverses));
      forVectors(f, bytes, (offset) => {
        const product = f32x4.mul(v128.load(i32.add(outGradient, offset)), v128.load(i32.add(from, offset)));
        const to = f.let(i32.add(gainGradient, offset));
        f.run(v128.store(to, f32x4.add(v128.load(to), f32x4.mul(product, inverse))));
      });
      for (const each of [from, outGradient]) f.set(each, i32.add(each, rowBytes));
      f.set(inverses, i32.add(inverses, i32.of(4)));
    });
  });
}

/** ln(sum(e^x)) - x[target] per row. With `writes` 1 the logits become (softmax - one-hot) `share`. */
function addCrossEntropy(module: ModuleBuilder): void {
  const signature = { ...integers("targets", "logits", "losses", "rows", "bytes", "writes"), ...floats("share") };
  module.function("crossEntropy", signature, (f, { targets, logits, losses, rows, bytes, share, writes }) => {
    const [largest, sum] = [f.local("v128"), f.local("v128")];
    f.for({ below: rows }, () => {
      f.set(largest, v128.load(logits));
      forVectors(f, bytes, (offset) => f.set(largest, f32x4.max(largest, v128.load(i32.add(logits, offset)))));
      const most = maxOfLanes(f, largest);
      f.set(sum, v128.zero());
      forVectors(f, bytes, (offset) => {
        const lowered = f32x4.sub(v128.load(i32.add(logits, offset)), most);
        f.set(sum, f32x4.add(sum, exponential(f, lowered)));
      });
      const total = f.let(f32x4.add(most, logarithm(f, sumOfLanes(f, sum))));
      const target = f.let(i32.add(logits, i32.shiftLeft(i32.load(targets), i32.of(2))));
      f.run(f32.store(losses, f32.sub(f32x4.lane(total, 0), f32.load(target))));
      f.if(writes, () => {
        forVectors(f, bytes, (offset) => {
          const at = f.let(i32.add(logits, offset));
          const probability = exponential(f, f32x4.sub(v128.load(at), total));
          f.run(v128.store(at, f32x4.mul(probability, f32x4.splat(share))));
        });
        f.run(f32.store(target, f32.sub(f32.load(target), share)));
      });
      f.set(logits, i32.add(logits, bytes));
      for (const each of [targets, losses]) f.set(each, i32.add(each, i32.of(4)));
    });
  });
}

/** Sums of products of `rows` row pairs. */
function addRowDot(module: ModuleBuilder): void {
  const signature = integers("a", "b", "to", "rows", "bytes", "rowBytes");
  module.function("rowDot", signature, (f, { a, b, to, rows, bytes, rowBytes }) => {
    const sum = f.local("v128");
    f.for({ below: rows }, () => {
      f.set(sum, v128.zero());
      forVectors(f, bytes, (offset) => {
        f.set(sum, f32x4.add(sum, f32x4.mul(v128.load(i32.add(a, offset)), v128.load(i32.add(b, offset)))));
      });
      f.run(f32.store(to, f32x4.lane(sumOfLanes(f, sum), 0)));
      for (const each of [a, b]) f.set(each, i32.add(each, rowBytes));
      f.set(to, i32.add(to, i32.of(4)));
    });
  });
}
