/**
 * TensorFlow.js, on its WebAssembly backend with one thread or on WebGPU: products and the forward of attention.
 *
 * Its attention has the whole T x T matrix, as the library has no fused one.
 */

import type { BenchTask, Missing } from "../compute/task.ts";
import { attentionFlops } from "../../../../gpu/speed/attention_speed.ts";
import { type Backend, gemmFlops, importPackage, type Library, operandsOf, type Prepared, values } from "./library.ts";

interface Tensor {
  dispose(): void;
  data(): Promise<unknown>;
}

interface Tensorflow {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  tensor(values: Float32Array, shape: readonly number[]): Tensor;
  matMul(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Tensor;
  softmax(x: Tensor): Tensor;
  add(a: Tensor, b: Tensor): Tensor;
  mul(a: Tensor, b: number): Tensor;
  tidy(compute: () => Tensor): Tensor;
}

interface WasmBackend {
  setWasmPaths(folder: string): void;
  setThreadsCount(count: number): void;
}

export async function openTensorflow(backend: Backend): Promise<Library> {
  const { library: tf, version } = await importPackage<Tensorflow>("@tensorflow/tfjs-core");
  const name = backend === "cpu" ? "wasm" : "webgpu";
  const { library: compute } = await importPackage<WasmBackend>(`@tensorflow/tfjs-backend-${name}`);
  if (backend === "cpu") {
    compute.setThreadsCount(1);
    compute.setWasmPaths(new URL(".", import.meta.resolve("@tensorflow/tfjs-backend-wasm")).pathname);
  }
  if (!await tf.setBackend(name)) throw new Error(`has no ${name} backend here`);
  await tf.ready();
  return { version: `${version}, ${name}`, prepare: (task) => Promise.resolve(prepare(tf, task)) };
}

/** Its gradients are registered by a module that only bundlers can resolve. */
const noGradients: Missing = { missing: "has no gradients in its package for Node" };

function prepare(tf: Tensorflow, task: BenchTask): Prepared | Missing {
  switch (task.type) {
    case "gemm":
      return product(tf, task);
    case "attention":
      return task.pass === "forward" ? attention(tf, task) : noGradients;
    case "step":
      return noGradients;
  }
}

function product(tf: Tensorflow, task: Extract<BenchTask, { type: "gemm" }>): Prepared {
  const { a, b, transposeA, transposeB } = operandsOf(task);
  const [left, right] = [filled(tf, a), filled(tf, b)];
  return {
    units: gemmFlops(task),
    run: (times) => repeat(times, () => tf.matMul(left, right, transposeA, transposeB)),
    dispose: () => [left, right].forEach((each) => each.dispose()),
  };
}

const masked = -1e9;

function attention(tf: Tensorflow, task: Extract<BenchTask, { type: "attention" }>): Prepared {
  const { sequences, length, heads, headWidth } = task;
  const shape = [sequences, heads, length, headWidth];
  const [q, k, v] = [filled(tf, shape), filled(tf, shape), filled(tf, shape)];
  const mask = tf.tensor(
    Float32Array.from({ length: length ** 2 }, (_, i) => i % length > i / length ? masked : 0),
    [length, length],
  );
  const attend = (x: Tensor, y: Tensor, z: Tensor) => {
    const scores = tf.mul(tf.matMul(x, y, false, true), 1 / Math.sqrt(headWidth));
    return tf.matMul(tf.softmax(tf.add(scores, mask)), z, false, false);
  };
  return {
    units: attentionFlops(task),
    run: (times) => repeat(times, () => tf.tidy(() => attend(q, k, v))),
    dispose: () => [q, k, v, mask].forEach((each) => each.dispose()),
  };
}

/** The last result is read: its backend computes in order, on WebGPU after the call has returned. */
async function repeat(times: number, once: () => Tensor): Promise<void> {
  for (let i = 0; i < times; i++) {
    const result = once();
    if (i === times - 1) await result.data();
    result.dispose();
  }
}

function filled(tf: Tensorflow, shape: readonly number[]): Tensor {
  return tf.tensor(values(shape.reduce((a, b) => a * b, 1)), shape);
}
