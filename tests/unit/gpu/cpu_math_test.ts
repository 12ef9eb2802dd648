/** The elementary functions of the processor's kernels against Math, over the whole range. */

import { assert, assertEquals } from "@std/assert";
import { exponential, logarithm, sigmoid } from "../../../gpu/cpu/kernels/math.ts";
import { type Expression, i32, v128 } from "../../../gpu/cpu/wasm/expressions.ts";
import { type FunctionBuilder, integers, type Local } from "../../../gpu/cpu/wasm/function_builder.ts";
import { ModuleBuilder } from "../../../gpu/cpu/wasm/module_builder.ts";

const count = 4096; // values a run

/** `make` applied to every value. */
function applied(
  make: (f: FunctionBuilder, x: Expression<"v128">) => Local<"v128">,
  values: Float32Array,
): Float32Array {
  const module = new ModuleBuilder();
  module.function("apply", integers("from", "to", "bytes"), (f, { from, to, bytes }) => {
    f.for({ below: bytes, by: 16 }, (offset) => {
      f.run(v128.store(i32.add(to, offset), make(f, v128.load(i32.add(from, offset)))));
    });
  });
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { host: { memory } });
  const floats = new Float32Array(memory.buffer);
  const results = new Float32Array(values.length);
  for (let start = 0; start < values.length; start += count) {
    floats.set(values.subarray(start, start + count));
    (exports["apply"] as (from: number, to: number, bytes: number) => void)(0, 4 * count, 4 * count);
    results.set(floats.subarray(count, count + Math.min(count, values.length - start)), start);
  }
  return results;
}

/** Equally spaced values. */
const between = (from: number, to: number, steps = 2 ** 17) =>
  Float32Array.from({ length: steps }, (_, i) => from + (to - from) * i / (steps - 1));

function largestError(results: Float32Array, error: (index: number) => number): number {
  let largest = 0;
  for (let i = 0; i < results.length; i++) largest = Math.max(largest, error(i));
  return largest;
}

Deno.test("Kernels' math: e^x is right to 2e-7 of its value, and 0 below every normal float", () => {
  const values = between(-87.3, 88.7);
  const results = applied(exponential, values);
  const worst = largestError(results, (i) => Math.abs(results[i]! / Math.exp(values[i]!) - 1));
  assert(worst < 2e-7, `${worst}`);
  assertEquals([...applied(exponential, Float32Array.of(-88, -1000, -Infinity, 0))], [0, 0, 0, 1]);
  const extremes = applied(exponential, Float32Array.of(NaN, 100, Infinity, 88));
  assert(Number.isNaN(extremes[0]), "NaN stays NaN");
  assert(extremes.slice(1).every((value) => value > 1e38 && value < Infinity), "what is too large stays the largest");
});

Deno.test("Kernels' math: ln(x) is right to 2e-7 of 1 + |ln x|, over every exponent", () => {
  const values = between(-126, 127).map((exponent) => 2 ** exponent);
  const results = applied(logarithm, values);
  const worst = largestError(results, (i) => {
    const right = Math.log(values[i]!);
    return Math.abs(results[i]! - right) / (1 + Math.abs(right));
  });
  assert(worst < 2e-7, `${worst}`);
});

Deno.test("Kernels' math: the sigmoid is right to 3e-7 of its value", () => {
  const values = between(-80, 80);
  const results = applied(sigmoid, values);
  const worst = largestError(results, (i) => Math.abs(results[i]! * (1 + Math.exp(-values[i]!)) - 1));
  assert(worst < 3e-7, `${worst}`);
});
