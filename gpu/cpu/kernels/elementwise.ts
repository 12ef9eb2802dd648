/** Element-wise kernels. Sizes are in bytes, multiples of 16. */

import { type Expression, f32x4, i32, v128 } from "../wasm/expressions.ts";
import { floats, type FunctionBuilder, integers, type Local } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { sigmoid, splat } from "./math.ts";

type V128 = Expression<"v128">;
type I32 = Expression<"i32">;

export function addElementwise(module: ModuleBuilder): void {
  addSums(module);
  addActivations(module);
  addSwiglu(module);
  addPrefix(module);
  addRotate(module);
  addAdamw(module);
}

export function forVectors(f: FunctionBuilder, bytes: I32, body: (offset: Local<"i32">) => void): void {
  f.for({ below: bytes, by: 16 }, body);
}

function addSums(module: ModuleBuilder): void {
  module.function("add", integers("from", "to", "bytes"), (f, { from, to, bytes }) => {
    forVectors(f, bytes, (offset) => {
      const at = f.let(i32.add(to, offset));
      f.run(v128.store(at, f32x4.add(v128.load(at), v128.load(i32.add(from, offset)))));
    });
  });
  // Four sums of squares, one a lane, per `chunkBytes`.
  module.function("squareSum", integers("from", "to", "bytes", "chunkBytes"), (f, { from, to, bytes, chunkBytes }) => {
    const [sum, x, end] = [f.local("v128"), f.local("v128"), f.local("i32")];
    const chunk = f.let(i32.of(0));
    f.while(i32.isBelow(chunk, bytes), () => {
      f.set(sum, v128.zero());
      f.set(end, i32.add(chunk, chunkBytes));
      f.if(i32.isBelow(bytes, end), () => f.set(end, bytes));
      f.for({ from: chunk, below: end, by: 16 }, (offset) => {
        f.set(x, v128.load(i32.add(from, offset)));
        f.set(sum, f32x4.add(sum, f32x4.mul(x, x)));
      });
      f.run(v128.store(to, sum));
      f.set(to, i32.add(to, i32.of(16)));
      f.set(chunk, end);
    });
  });
}

/** d SiLU(x) / dx; s is the sigmoid. */
function siluSlope(x: V128, s: V128): V128 {
  return f32x4.mul(s, f32x4.add(splat(1), f32x4.mul(x, f32x4.sub(splat(1), s))));
}

function addActivations(module: ModuleBuilder): void {
  const signature = integers("from", "to", "bytes");
  const map = (name: string, make: (f: FunctionBuilder, x: Local<"v128">, at: Local<"i32">) => V128) =>
    module.function(name, signature, (f, { from, to, bytes }) => {
      const [x, at] = [f.local("v128"), f.local("i32")];
      forVectors(f, bytes, (offset) => {
        f.set(x, v128.load(i32.add(from, offset)));
        f.set(at, i32.add(to, offset));
        f.run(v128.store(at, make(f, x, at)));
      });
    });
  map("relu", (_f, x) => f32x4.max(x, v128.zero()));
  map("silu", (f, x) => f32x4.mul(x, sigmoid(f, x)));
  // In place on the gradient.
  map("reluBackward", (_f, x, at) => v128.and(v128.load(at), f32x4.isAbove(x, v128.zero())));
  map("siluBackward", (f, x, at) => f32x4.mul(v128.load(at), siluSlope(x, sigmoid(f, x))));
}

/** Rows hold the gate's values, then the up projection's. */
function addSwiglu(module: ModuleBuilder): void {
  const forward = integers("gateUp", "out", "rows", "bytes");
  module.function("swiglu", forward, (f, { gateUp, out, rows, bytes }) => {
    const [gate, at] = [f.local("v128"), f.local("i32")];
    f.for({ below: rows }, () => {
      forVectors(f, bytes, (offset) => {
        f.set(at, i32.add(gateUp, offset));
        f.set(gate, v128.load(at));
        const up = v128.load(i32.add(at, bytes));
        f.run(v128.store(i32.add(out, offset), f32x4.mul(f32x4.mul(gate, sigmoid(f, gate)), up)));
      });
      f.set(gateUp, i32.add(gateUp, i32.shiftLeft(bytes, i32.of(1))));
      f.set(out, i32.add(out, bytes));
    });
  });
  const backward = integers("gateUp", "outGradient", "gateUpGradient", "rows", "bytes");
  module.function("swigluBackward", backward, (f, { gateUp, outGradient, gateUpGradient, rows, bytes }) => {
    const [gate, up, g, at, to] = [
      ...[f.local("v128"), f.local("v128"), f.local("v128")] as const,
      ...[f.local("i32"), f.local("i32")] as const,
    ];
    f.for({ below: rows }, () => {
      forVectors(f, bytes, (offset) => {
        f.set(at, i32.add(gateUp, offset));
        f.set(to, i32.add(gateUpGradient, offset));
        f.set(gate, v128.load(at));
        f.set(up, v128.load(i32.add(at, bytes)));
        f.set(g, v128.load(i32.add(outGradient, offset)));
        const s = sigmoid(f, gate);
        f.run(v128.store(to, f32x4.mul(f32x4.mul(g, siluSlope(gate, s)), up)));
        f.run(v128.store(i32.add(to, bytes), f32x4.mul(g, f32x4.mul(gate, s))));
      });
      const both = i32.shiftLeft(bytes, i32.of(1));
      f.set(gateUp, i32.add(gateUp, both));
      f.set(gateUpGradient, i32.add(gateUpGradient, both));
      f.set(outGradient, i32.add(outGradient, bytes));
    });
  });
}

/** Adds each row's first `bytes`, or with `pad` 1 copies them and appends zeros. */
function addPrefix(module: ModuleBuilder): void {
  const signature = integers("from", "to", "rows", "bytes", "fromBytes", "toBytes", "pad");
  module.function("prefix", signature, (f, { from, to, rows, bytes, fromBytes, toBytes, pad }) => {
    f.for({ below: rows }, () => {
      f.if(pad, () => forVectors(f, toBytes, (offset) => f.run(v128.store(i32.add(to, offset), v128.zero()))));
      forVectors(f, bytes, (offset) => {
        const at = f.let(i32.add(to, offset));
        f.run(v128.store(at, f32x4.add(v128.load(at), v128.load(i32.add(from, offset)))));
      });
      f.set(from, i32.add(from, fromBytes));
      f.set(to, i32.add(to, toBytes));
    });
  });
}

/**
 * Rotates pairs (x, y), half a head apart, in place. Table: cosines, then sines, each (length, half). `sign` -1 rotates
 * back; `first` is the first row's number.
 */
function addRotate(module: ModuleBuilder): void {
  const signature = {
    ...integers("table", "values", "first", "rows", "length", "rowBytes", "halfBytes", "heads"),
    ...floats("sign"),
  };
  module.function("rotate", signature, (f, p) => {
    const { table, values, first, rows, length, rowBytes, halfBytes, heads, sign } = p;
    const sines = f.let(i32.mul(length, halfBytes));
    const [x, y, cos, sin] = [f.local("v128"), f.local("v128"), f.local("v128"), f.local("v128")];
    const [angle, head] = [f.local("i32"), f.local("i32")];
    f.for({ below: rows }, (row) => {
      f.set(angle, i32.add(table, i32.mul(i32.remainder(i32.add(first, row), length), halfBytes)));
      f.set(head, values);
      f.for({ below: heads }, () => {
        forVectors(f, halfBytes, (offset) => {
          const at = f.let(i32.add(angle, offset));
          const from = f.let(i32.add(head, offset));
          const other = f.let(i32.add(from, halfBytes));
          f.set(cos, v128.load(at));
          f.set(sin, f32x4.mul(v128.load(i32.add(at, sines)), f32x4.splat(sign)));
          f.set(x, v128.load(from));
          f.set(y, v128.load(other));
          f.run(v128.store(from, f32x4.sub(f32x4.mul(x, cos), f32x4.mul(y, sin))));
          f.run(v128.store(other, f32x4.add(f32x4.mul(y, cos), f32x4.mul(x, sin))));
        });
        f.set(head, i32.add(head, i32.shiftLeft(halfBytes, i32.of(1))));
      });
      f.set(values, i32.add(values, rowBytes));
    });
  });
}

/** Clears the gradient. `hyper`: in the order of ../updates.ts; `decay`: one of them or a zero. */
function addAdamw(module: ModuleBuilder): void {
  const signature = integers("parameters", "gradients", "first", "second", "bytes", "hyper", "decay");
  module.function("adamw", signature, (f, { parameters, gradients, first, second, bytes, decay, hyper }) => {
    const number = (index: number) => f.let(f32x4.loadSplat(hyper, 4 * index));
    const [rate, scale, beta1, beta2] = [number(0), number(1), number(2), number(3)];
    const [rest1, rest2, correction1, correction2, epsilon] = [number(4), number(5), number(6), number(7), number(8)];
    const shrink = f.let(f32x4.loadSplat(decay));
    const [g, m, v, p] = [f.local("v128"), f.local("v128"), f.local("v128"), f.local("v128")];
    forVectors(f, bytes, (offset) => {
      const at = (start: Local<"i32">) => i32.add(start, offset);
      f.set(g, f32x4.mul(v128.load(at(gradients)), scale));
      f.set(m, f32x4.add(f32x4.mul(beta1, v128.load(at(first))), f32x4.mul(rest1, g)));
      f.set(v, f32x4.add(f32x4.mul(beta2, v128.load(at(second))), f32x4.mul(f32x4.mul(rest2, g), g)));
      f.set(p, v128.load(at(parameters)));
      const root = f32x4.add(f32x4.sqrt(f32x4.mul(v, correction2)), epsilon);
      const change = f32x4.mul(rate, f32x4.div(f32x4.mul(m, correction1), root));
      f.set(p, f32x4.sub(p, f32x4.add(change, f32x4.mul(shrink, p))));
      f.run(v128.store(at(parameters), p));
      f.run(v128.store(at(first), m));
      f.run(v128.store(at(second), v));
      f.run(v128.store(at(gradients), v128.zero()));
    });
  });
}
