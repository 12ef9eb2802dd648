/**
 * Muon against another implementation: five steps of tests/vectors/compute/make_muon.py (NumPy, float64) by the reference and by
 * both devices, on wide, tall and square matrices, boundaries of width 4, a gradient of rank one and one that is zero.
 */

import { assert, assertEquals } from "@std/assert";
import type { ModelShape } from "../../core/model/shape.ts";
import { type ParameterTable, parameterTable } from "../../core/model/spec.ts";
import { muon } from "../../core/train/muon.ts";
import type { StepOptions } from "../../gpu/compute.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { relativeL2 } from "../conformance/compute_world.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import {
  type Stepped,
  steppedByGpu,
  steppedByProcessor,
  steppedByReference,
  type StepRun,
} from "../support/optimizer_steps.ts";
import { specsOf, tinyConfig } from "../support/tiny_model.ts";

interface Golden {
  readonly model: Partial<ModelShape>;
  readonly bottleneckWidth: number;
  readonly learningRates: readonly number[];
  readonly gradientScale: number;
  readonly train: Pick<StepOptions, "beta1" | "beta2" | "epsilon" | "weightDecay">;
  readonly tensors: readonly { name: string; size: number; optimizer: "muon" | "adamw" }[];
}

interface GoldenTensor {
  readonly values: Float32Array;
  readonly gradients: readonly Float32Array[];
  readonly after: Float32Array;
  readonly state: Readonly<Record<string, Float32Array>>; // by the name of the state vector
}

const file = (ending: string) => new URL(`../vectors/compute/muon.${ending}`, import.meta.url);
const golden: Golden = JSON.parse(Deno.readTextFileSync(file("json")));

function readTensors(): Map<string, GoldenTensor> {
  const all = new Float32Array(Deno.readFileSync(file("bin")).buffer);
  let offset = 0;
  const tensors = golden.tensors.map(({ name, size, optimizer }) => {
    const take = () => all.subarray(offset, offset += size);
    const values = take();
    const gradients = golden.learningRates.map(take);
    const after = take();
    const names = optimizer === "muon" ? ["momentum"] : ["firstMoments", "secondMoments"];
    return [name, {
      values,
      gradients,
      after,
      state: Object.fromEntries(names.map((each) => [each, take()])),
    }] as const;
  });
  assertEquals(offset, all.length, "the file holds exactly what its index says");
  return new Map(tensors);
}

const tensors = readTensors();
const config = tinyConfig({
  model: golden.model,
  pipeline: { codec: "iota", stages: 2, bottleneckWidth: golden.bottleneckWidth },
});
const tables = specsOf(config).map(parameterTable);

/** A flat vector from a part of each tensor. */
function flat(table: ParameterTable, partOf: (tensor: GoldenTensor) => Float32Array): Float32Array {
  const vector = new Float32Array(table.length);
  for (const { name, offset } of table.tensors) vector.set(partOf(tensors.get(name)!), offset);
  return vector;
}

const runs = tables.map((table): StepRun => ({
  optimizer: "muon",
  table,
  parameters: flat(table, ({ values }) => values),
  steps: golden.learningRates.map((learningRate, i) => ({
    options: { ...golden.train, gradientScale: golden.gradientScale, learningRate },
    gradients: flat(table, ({ gradients }) => gradients[i]!),
  })),
}));

/** A tensor's part of a state vector; null if the vector does not cover it. */
function stateOf(
  { table, stepped }: { table: ParameterTable; stepped: Stepped },
  { vector, offset, size }: { vector: string; offset: number; size: number },
): Float32Array | null {
  let start = 0;
  for (const range of muon.stateVectors(table).find(({ name }) => name === vector)!.covers) {
    const at = start + offset - range.offset;
    if (offset >= range.offset && offset < range.offset + range.size) {
      return stepped.state[vector]!.slice(at, at + size);
    }
    start += range.size;
  }
  return null;
}

/** Every tensor's change and state. */
function compare(table: ParameterTable, stepped: Stepped, tolerance: number): void {
  for (const { name, offset, size } of table.tensors) {
    const { values, after, state } = tensors.get(name)!;
    const own = stepped.parameters.subarray(offset, offset + size);
    const [change, expected] = [own, after].map((each) => each.map((value, i) => value - values[i]!));
    const error = relativeL2(change!, expected!);
    assert(error <= tolerance, `${name}: the change is ${error} off`);
    for (const vector of ["momentum", "firstMoments", "secondMoments"]) {
      const kept = stateOf({ table, stepped }, { vector, offset, size });
      assertEquals(kept === null, state[vector] === undefined, `${vector} covers ${name}`);
      if (kept !== null) assert(relativeL2(kept, state[vector]!) <= 1e-6, `${vector} of ${name}`);
    }
  }
}

Deno.test("Muon, golden vectors: five steps of the reference", () => {
  for (const run of runs) compare(run.table, steppedByReference(run), 1e-6);
});

Deno.test("Muon, golden vectors: five steps on the processor, with the same bits every time", () => {
  for (const run of runs) {
    const stepped = steppedByProcessor(run);
    compare(run.table, stepped, 1e-3);
    assertEquals(steppedByProcessor(run), stepped);
  }
});

for (const [name, settings] of Object.entries({ softwareKernels, hardwareKernels })) {
  gpuTest(`Muon, golden vectors: five steps on a GPU with ${name}, with the same bits every time`, async (support) => {
    for (const run of runs) {
      const stepped = await steppedByGpu(run, { ...support, settings });
      compare(run.table, stepped, 1e-3);
      assertEquals(await steppedByGpu(run, { ...support, settings }), stepped);
    }
  });
}
