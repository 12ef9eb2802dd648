/** The module of all kernels of the processor's backend: generated once per thread, instantiated once per memory. */

import { ModuleBuilder } from "../wasm/module_builder.ts";
import { addAttention } from "./attention_kernels.ts";
import { addElementwise } from "./elementwise.ts";
import { addGemm } from "./gemm_kernels.ts";
import { addMuon } from "./muon_kernels.ts";
import { addRowKernels } from "./rows.ts";

/** Arguments are addresses, sizes and numbers in the order of each kernel's signature. */
export type Kernel = (...values: readonly number[]) => void;

const names = [
  ...["packRows", "packLines", "multiplyTile", "multiplyAddTile", "multiplyBlock"],
  ...["add", "squareSum", "relu", "silu", "reluBackward", "siluBackward", "swiglu", "swigluBackward"],
  ...["prefix", "rotate", "adamw", "norm", "normBackward", "gainGradient", "crossEntropy", "rowDot"],
  ...["softmax", "queryGradient", "keyGradient"],
  ...["nesterov", "unitTrace", "polynomial", "mirror", "descend"],
] as const;

export type CpuKernels = Readonly<Record<typeof names[number], Kernel>>;

let compiled: WebAssembly.Module | null = null;

export function kernelModule(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  addGemm(module);
  addElementwise(module);
  addRowKernels(module);
  addAttention(module);
  addMuon(module);
  return module.build();
}

export function cpuKernels(memory: WebAssembly.Memory): CpuKernels {
  compiled ??= new WebAssembly.Module(kernelModule());
  const instance = new WebAssembly.Instance(compiled, { host: { memory } });
  return instance.exports as unknown as CpuKernels; // the module exports exactly these
}
