/**
 * What this process's WebGPU driver makes of fixed inputs: wires, losses, gradients and one step of a few stages, with both
 * kernel families. Two drivers' samples show how far apart they are. Run as a program, it prints its sample as JSON.
 */

import { decodeWire } from "../../core/codec/wire.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { openGpuDevice } from "../../gpu/webgpu/device.ts";
import { Kernels } from "../../gpu/webgpu/kernel.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { stepOptions } from "../conformance/compute_pair.ts";
import { computeCases, relativeL2, suiteMicrobatch, suiteParameters } from "../conformance/compute_world.ts";

export interface DriverSample {
  readonly adapter: string;
  readonly values: Readonly<Record<string, readonly number[]>>; // by what they are
}

/** How far apart two samples are: the largest over all stages, by kind. */
export interface DriverDifference {
  readonly kind: string;
  readonly relativeL2: number;
  readonly equalShare: number; // of values, the smallest
}

const sampled = ["whole model", "receives and sends", "4:1 heads"];

export async function driverSample(): Promise<DriverSample> {
  const gpu = await openGpuDevice();
  const kernels = new Kernels(gpu);
  const values: Record<string, readonly number[]> = {};
  for (const [family, settings] of Object.entries({ software: softwareKernels, hardware: hardwareKernels })) {
    for (const { name, spec } of computeCases()) {
      if (!sampled.some((part) => name.includes(part))) continue;
      const stage = await createWebGpuStage(gpu, spec, { kernels, settings });
      for (const [kind, found] of await sampleOf(stage, spec)) values[`${kind}: ${name}, ${family}`] = [...found];
      stage.close();
    }
  }
  return { adapter: gpu.adapter.name, values };
}

async function sampleOf(
  stage: StageCompute,
  spec: StageSpec,
): Promise<[string, ArrayLike<number> & Iterable<number>][]> {
  const { input, targets, gradient } = suiteMicrobatch(spec, 0);
  const { input: wireIn, output } = stageWires(spec);
  const rows: [string, Float32Array][] = [];
  await stage.loadParameters(suiteParameters(spec));
  let back: Uint8Array | null;
  if (output !== null && gradient !== null) {
    rows.push(["wire", decodeWire(output, await stage.forward(input))]);
    back = await stage.backward(input, gradient);
  } else {
    const result = await stage.turnaround(input, targets);
    rows.push(["loss", result.lossPerSequence]);
    back = result.gradient;
  }
  if (wireIn !== null && back !== null) rows.push(["gradient wire", decodeWire(wireIn, back)]);
  rows.push(["gradients", await stage.readGradients()]);
  await stage.step(stepOptions);
  rows.push(["parameters after a step", await stage.readParameters()]);
  return rows;
}

export function differencesOf(a: DriverSample, b: DriverSample): DriverDifference[] {
  const kinds = new Map<string, DriverDifference>();
  for (const [name, values] of Object.entries(a.values)) {
    const others = b.values[name] ?? [];
    const kind = name.slice(0, name.indexOf(":"));
    const known = kinds.get(kind) ?? { relativeL2: 0, equalShare: 1 };
    const equal = values.filter((value, i) => value === others[i]).length / values.length;
    kinds.set(kind, {
      kind,
      relativeL2: Math.max(known.relativeL2, relativeL2(values, others)),
      equalShare: Math.min(known.equalShare, equal),
    });
  }
  return [...kinds.values()];
}

if (import.meta.main) console.log(JSON.stringify(await driverSample()));
