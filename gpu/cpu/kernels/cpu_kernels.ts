/** All kernels, compiled once per thread, instantiated once per memory. */

import { ModuleBuilder } from "../wasm/module_builder.ts";
import { addAttention } from "./attention_kernels.ts";
import { addElementwise } from "./elementwise.ts";
import { addGemm } from "./gemm_kernels.ts";
import { addMuon } from "./muon_kernels.ts";
import { addRowKernels } from "./rows.ts";

type Kernel = (...values: readonly number[]) => void;

export const kernelNames = [
  ...[
    "packRows",
    "packLines",
    "multiplyTile",
    "multiplyAddTile",
    "multiplyBlock",
    "multiplyRowLines",
    "multiplyRowRows",
  ],
  ...["add", "squareSum", "relu", "silu", "reluBackward", "siluBackward", "swiglu", "swigluBackward"],
  ...["prefix", "rotate", "adamw", "norm", "normBackward", "gainGradient", "crossEntropy", "rowDot"],
  ...["softmax", "queryGradient", "keyGradient"],
  ...["nesterov", "unitTrace", "polynomial", "mirror", "descend"],
] as const;

export type CpuKernels = Readonly<Record<typeof kernelNames[number], Kernel>>;

const compiled = new Map<boolean, WebAssembly.Module>(); // by whether the memory is shared

function kernelModule({ isShared }: { isShared: boolean }): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  addGemm(module);
  addElementwise(module);
  addRowKernels(module);
  addAttention(module);
  addMuon(module);
  return module.build({ isShared });
}

export function compiledKernels(memory: WebAssembly.Memory): WebAssembly.Module {
  const isShared = !(memory.buffer instanceof ArrayBuffer);
  const known = compiled.get(isShared);
  if (known !== undefined) return known;
  const made = new WebAssembly.Module(kernelModule({ isShared }));
  compiled.set(isShared, made);
  return made;
}

export function cpuKernels(memory: WebAssembly.Memory, module = compiledKernels(memory)): CpuKernels {
  const instance = new WebAssembly.Instance(module, { host: { memory } });
  return instance.exports as unknown as CpuKernels;
}
