/**
 * Steps of an optimizer on given gradients, without a model: by the reference, the processor and a GPU, with the production
 * code of each.
 */

import { assert, assertEquals } from "@std/assert";
import type { ParameterTable } from "../../core/model/spec.ts";
import { stateLength } from "../../core/train/optimizer.ts";
import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import { optimizers } from "../../core/train/optimizers.ts";
import type { StepOptions } from "../../gpu/compute.ts";
import { CpuMemory } from "../../gpu/cpu/layout/memory.ts";
import type { CpuDispatch } from "../../gpu/cpu/cpu_dispatch.ts";
import { CpuOps } from "../../gpu/cpu/ops.ts";
import { Team } from "../../gpu/cpu/threads/team.ts";
import { cpuUpdates } from "../../gpu/cpu/updates.ts";
import { referenceUpdates } from "../lab/reference/updates.ts";
import { type DeviceVector, type DeviceVectors, storeVectors } from "../../gpu/device_vector.ts";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import { type KernelSettings, Ops } from "../../gpu/webgpu/ops.ts";
import { updates } from "../../gpu/webgpu/optimizers/updates.ts";
import type { GpuSupport } from "./gpu_adapter.ts";

export interface StepRun {
  readonly optimizer: OptimizerName;
  readonly table: ParameterTable;
  readonly parameters: Float32Array;
  readonly steps: readonly { readonly options: StepOptions; readonly gradients: Float32Array }[];
}

/** What a stage holds after the steps. */
export interface Stepped {
  readonly parameters: Float32Array;
  readonly state: Readonly<Record<string, Float32Array>>; // by name
}

const stateOf = ({ optimizer, table }: StepRun) => optimizers[optimizer].stateVectors(table);

export function steppedByReference(run: StepRun): Stepped {
  const { optimizer, table } = run;
  const parameters = Float64Array.from(run.parameters);
  const vectors = new Map(stateOf(run).map((each) => [each.name, new Float64Array(stateLength(each))]));
  run.steps.forEach(({ options, gradients }, steps) => {
    referenceUpdates[optimizer]({ table, parameters, vectors, steps }, Float64Array.from(gradients), options);
  });
  const state = Object.fromEntries(vectors.entries().map(([name, values]) => [name, Float32Array.from(values)]));
  return { parameters: Float32Array.from(parameters), state };
}

const whole = (vector: DeviceVector) => vector.part({ offset: 0, size: vector.length });
const filled = ({ state }: DeviceVectors) => [...state].filter(([, { vector }]) => vector.length > 0); // Muon may leave AdamW nothing

export function steppedByProcessor(run: StepRun): Stepped {
  const { table, optimizer } = run;
  const memory = new CpuMemory();
  const team = new Team(memory);
  const vectors = storeVectors(memory, { table, state: stateOf(run) });
  const update = cpuUpdates[optimizer]({ memory, team, ops: new CpuOps(memory, team), table, vectors });
  memory.upload(whole(vectors.parameters), run.parameters);
  run.steps.forEach(({ options, gradients }, i) => {
    memory.upload(whole(vectors.gradients), gradients);
    for (const { range, values } of update.uploads(options, i + 1)) memory.upload(range, values);
    for (const { run } of update.dispatches as readonly CpuDispatch[]) run();
  });
  assertEquals(
    memory.floats(whole(vectors.gradients)).findIndex((value) => value !== 0),
    -1,
    "a step clears the gradient",
  );
  const state = Object.fromEntries(
    filled(vectors).map(([name, { vector }]) => [name, memory.floats(whole(vector))]),
  );
  return { parameters: memory.floats(whole(vectors.parameters)), state };
}

export async function steppedByGpu(
  run: StepRun,
  { gpu, kernels, settings }: GpuSupport & { settings: KernelSettings },
): Promise<Stepped> {
  const { table, optimizer } = run;
  const buffers = new StageBuffers(gpu);
  buffers.reserveStaging(1 << 17);
  const vectors = storeVectors(buffers, { table, state: stateOf(run) });
  const bindingBytes = 1 << 20;
  const update = updates[optimizer]({ ops: new Ops(kernels, settings), buffers, table, vectors, bindingBytes });
  await kernels.warmUp();
  for (const [, { vector }] of filled(vectors)) buffers.upload(whole(vector), new Float32Array(vector.length));
  buffers.upload(whole(vectors.parameters), run.parameters);
  for (const [i, { options, gradients }] of run.steps.entries()) {
    buffers.upload(whole(vectors.gradients), gradients);
    for (const { range, values } of update.uploads(options, i + 1)) buffers.upload(range, values);
    kernels.run(update.dispatches);
  }
  const gradients = await buffers.readFloats(whole(vectors.gradients), table.length);
  assert(gradients.every((value) => value === 0), "a step clears the gradient");
  const state: Record<string, Float32Array> = {};
  for (const [name, { vector }] of filled(vectors)) {
    state[name] = await buffers.readFloats(whole(vector), vector.length);
  }
  const parameters = await buffers.readFloats(whole(vectors.parameters), table.length);
  buffers.destroy();
  return { parameters, state };
}
