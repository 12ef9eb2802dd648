/**
 * jax-js, on its WebAssembly backend or on WebGPU: products, attention and a whole training step, each under `jit`.
 *
 * Every call consumes its arguments; `.ref` keeps one for another use. Out of scope: the model (jax_model.ts).
 */

import type { BenchTask, Missing } from "../compute/task.ts";
import { attentionFlops } from "../../../../gpu/speed/attention_speed.ts";
import type { Jax, JaxArray, Tree } from "./jax_api.ts";
import { JaxTraining } from "./jax_training.ts";
import { type Backend, gemmFlops, importPackage, type Library, operandsOf, type Prepared, values } from "./library.ts";

export async function openJax(backend: Backend): Promise<Library> {
  const { library: jax, version } = await importPackage<Jax>("@jax-js/jax");
  const device = backend === "cpu" ? "wasm" : "webgpu";
  if (!(await jax.init()).includes(device)) throw new Error(`has no ${device} backend here`);
  jax.defaultDevice(device);
  return { version: `${version}, ${device}`, prepare: (task) => Promise.resolve(prepare({ jax, backend }, task)) };
}

interface Open {
  readonly jax: Jax;
  readonly backend: Backend;
}

function prepare(open: Open, task: BenchTask): Prepared | Missing {
  switch (task.type) {
    case "gemm":
      return product(open, task);
    case "attention":
      return attention(open, task);
    case "step":
      return new JaxTraining(open.jax, task);
  }
}

function product({ jax, backend }: Open, task: Extract<BenchTask, { type: "gemm" }>): Prepared {
  const { numpy } = jax;
  const { a, b, transposeA, transposeB } = operandsOf(task);
  const [left, right] = [a, b].map((shape) => filled(jax, shape)) as [JaxArray, JaxArray];
  const multiply = jax.jit((x: JaxArray, y: JaxArray) =>
    numpy.matmul(transposeA ? numpy.transpose(x) : x, transposeB ? numpy.transpose(y) : y)
  );
  return {
    units: gemmFlops(task),
    run: repeat(open(jax, backend), () => multiply(left.ref, right.ref)),
    dispose: () => [left, right].forEach((each) => each.dispose()),
  };
}

function attention({ jax, backend }: Open, task: Extract<BenchTask, { type: "attention" }>): Prepared {
  const { pass, sequences, length, heads, headWidth } = task;
  const shape = [sequences, length, heads, headWidth];
  const operands = Array.from({ length: 4 }, () => filled(jax, shape)) as [JaxArray, JaxArray, JaxArray, JaxArray];
  const [q, k, v, gradient] = operands;
  const attend = (x: JaxArray, y: JaxArray, z: JaxArray) => jax.nn.dotProductAttention(x, y, z, { isCausal: true });
  const forward = jax.jit(attend);
  const weighted = (x: JaxArray, y: JaxArray, z: JaxArray, w: JaxArray) => jax.numpy.sum(attend(x, y, z).mul(w));
  const backward = jax.jit(jax.grad(weighted, { argnums: [0, 1, 2] }));
  const once = pass === "forward"
    ? () => forward(q.ref, k.ref, v.ref)
    : () => backward(q.ref, k.ref, v.ref, gradient.ref);
  return {
    units: attentionFlops(task),
    run: repeat(open(jax, backend), once),
    dispose: () => operands.forEach((each) => each.dispose()),
  };
}

const waitedTogether = 32; // at most 32 MiB of results; a product of 256 was 22 GFLOP/s with 1, 28 with 32

const open = (jax: Jax, backend: Backend): Open => ({ jax, backend });

/** Waiting costs some time of its own; on WebGPU one waits for a queue, so for all results at once. */
function repeat({ jax, backend }: Open, once: () => Tree): (times: number) => Promise<void> {
  const together = backend === "webgpu" ? Infinity : waitedTogether;
  return async (times) => {
    for (let done = 0; done < times; done += together) {
      const results = Array.from({ length: Math.min(together, times - done) }, once);
      await jax.blockUntilReady(results);
      jax.tree.dispose(results);
    }
  };
}

function filled({ numpy }: Jax, shape: readonly number[]): JaxArray {
  return numpy.array(values(shape.reduce((a, b) => a * b, 1))).reshape([...shape]);
}
