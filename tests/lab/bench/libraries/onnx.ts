/**
 * onnxruntime-web, on its WebAssembly backend with one thread or on WebGPU: products and the forward of attention. It does not
 * train. Its models are made here (onnx_graph.ts), and on WebGPU operands and results stay on the device.
 */

import type { BenchTask, Missing } from "../compute/task.ts";
import { attentionFlops } from "../../../../gpu/speed/attention_speed.ts";
import { type Backend, gemmFlops, importPackage, type Library, operandsOf, type Prepared, values } from "./library.ts";
import { type OnnxGraph, onnxModel, type OnnxNode } from "./onnx_graph.ts";

interface OnnxTensor {
  readonly location: string;
  getData(): Promise<unknown>;
  dispose(): void;
}

type Feeds = Record<string, OnnxTensor>;

interface Session {
  run(feeds: Feeds): Promise<Feeds>;
  release(): Promise<void>;
}

interface Onnx {
  readonly env: { readonly wasm: { numThreads: number }; logLevel: string };
  readonly InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, unknown>>): Promise<Session>;
  };
  readonly Tensor: new (type: "float32", values: Float32Array, shape: readonly number[]) => OnnxTensor;
}

interface Open {
  readonly onnx: Onnx;
  readonly backend: Backend;
}

export async function openOnnx(backend: Backend): Promise<Library> {
  const name = backend === "cpu" ? "onnxruntime-web" : "onnxruntime-web/webgpu";
  const { library: onnx, version } = await importPackage<Onnx>(name);
  onnx.env.wasm.numThreads = 1;
  onnx.env.logLevel = "error";
  const provider = backend === "cpu" ? "wasm" : "webgpu";
  return { version: `${version}, ${provider}`, prepare: (task) => prepare({ onnx, backend }, task) };
}

async function prepare(open: Open, task: BenchTask): Promise<Prepared | Missing> {
  if (task.type === "gemm") return { units: gemmFlops(task), ...await repeated(open, productGraph(task)) };
  if (task.type === "attention" && task.pass === "forward") {
    return { units: attentionFlops(task), ...await repeated(open, attentionGraph(task)) };
  }
  return { missing: "does not train" };
}

function productGraph(task: Extract<BenchTask, { type: "gemm" }>): OnnxGraph {
  const { a, b, transposeA, transposeB } = operandsOf(task);
  const node: OnnxNode = {
    operator: "Gemm",
    inputs: ["a", "b"],
    output: "c",
    integers: { transA: Number(transposeA), transB: Number(transposeB) },
  };
  const c = [transposeA ? a[1] : a[0], transposeB ? b[0] : b[1]];
  return { nodes: [node], inputs: { a, b }, outputs: { c } };
}

function attentionGraph(task: Extract<BenchTask, { type: "attention" }>): OnnxGraph {
  const { sequences, length, heads, headWidth } = task;
  const shape = [sequences, heads, length, headWidth];
  return {
    nodes: [
      { operator: "Transpose", inputs: ["k"], output: "columns", lists: { perm: [0, 1, 3, 2] } },
      { operator: "MatMul", inputs: ["q", "columns"], output: "products" },
      { operator: "Mul", inputs: ["products", "scale"], output: "scores" },
      { operator: "Add", inputs: ["scores", "mask"], output: "masked" },
      { operator: "Softmax", inputs: ["masked"], output: "shares", integers: { axis: 3 } },
      { operator: "MatMul", inputs: ["shares", "v"], output: "output" },
    ],
    inputs: { q: shape, k: shape, v: shape, scale: [1], mask: [length, length] },
    outputs: { output: shape },
  };
}

const masked = -1e9;

/** Operands by their names in the graphs above. */
function operand(name: string, shape: readonly number[]): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  if (name === "scale") return Float32Array.of(0.125);
  if (name !== "mask") return values(count);
  const length = shape[0]!;
  return Float32Array.from({ length: count }, (_, i) => i % length > i / length ? masked : 0);
}

async function repeated({ onnx, backend }: Open, graph: OnnxGraph): Promise<Omit<Prepared, "units">> {
  const session = await onnx.InferenceSession.create(onnxModel(graph), {
    executionProviders: [backend === "cpu" ? "wasm" : "webgpu"],
    ...(backend === "cpu" ? {} : { preferredOutputLocation: "gpu-buffer" }),
  });
  const feeds = Object.fromEntries(
    Object.entries(graph.inputs).map(([name, shape]) =>
      [name, new onnx.Tensor("float32", operand(name, shape), shape)] as const
    ),
  );
  const run = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const results = Object.values(await session.run(feeds));
      if (i === times - 1) { for (const each of results) await each.getData(); }
      for (const each of results) if (each.location === "gpu-buffer") each.dispose();
    }
  };
  return { run, dispose: () => void session.release() };
}
