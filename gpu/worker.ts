/**
 * The thread that owns a device: Deno's WebGPU waits block, so compute must not share a thread with the network.
 *
 * Owns one device (or the reference) and any number of stages on it. Performs requests one at a time in the order they came;
 * an exception becomes a `failed` response with its name and text, and the worker goes on.
 */

import { present, unreachable } from "../core/assert.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "./compute.ts";
import { type GpuDevice, openGpuDevice } from "./webgpu/device.ts";
import { measureGemm } from "./webgpu/gemm_speed.ts";
import { Kernels } from "./webgpu/kernel.ts";
import { createWebGpuStage } from "./webgpu/webgpu_stage.ts";
import type { ComputeRequest, ComputeResponse, DeviceChoice, StageArguments, StageMethod } from "./worker_protocol.ts";
import { ownedCopy } from "./worker_protocol.ts";

interface ComputeDevice {
  readonly adapter: AdapterDescription;
  readonly gpu: GpuDevice | null; // null: the reference
  readonly createStage: (spec: StageSpec, options: StageOptions) => Promise<StageCompute>;
}

let device: ComputeDevice | null = null;
const stages = new Map<number, StageCompute>();
let previous: Promise<void> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ComputeRequest>) => {
  previous = previous.then(() => answer(data));
};

async function answer(request: ComputeRequest): Promise<void> {
  const { id } = request;
  try {
    send(await perform(request));
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    send({ type: "failed", id, name, message });
  }
}

function send(response: ComputeResponse): void {
  const transfer: ArrayBuffer[] = [];
  self.postMessage(ownedCopy(response, transfer), transfer);
}

async function perform(request: ComputeRequest): Promise<ComputeResponse> {
  const { id } = request;
  switch (request.type) {
    case "openDevice":
      device = await openDevice(request.device);
      return { type: "deviceOpened", id, adapter: device.adapter };
    case "openStage": {
      stages.set(request.stage, await openedDevice().createStage(request.spec, request.options));
      return { type: "finished", id, result: null };
    }
    case "callStage": {
      const stage = openStage(request.stage);
      return { type: "finished", id, result: await callStage(stage, request.method, request.arguments) };
    }
    case "closeStage":
      openStage(request.stage).close();
      stages.delete(request.stage);
      return { type: "finished", id, result: null };
    case "inspect":
      return { type: "finished", id, result: openedDevice().gpu?.facts() ?? null };
    case "measureGemm": {
      const { gpu } = openedDevice();
      return { type: "finished", id, result: gpu === null ? null : await measureGemm(gpu, request) };
    }
    case "rest":
      return { type: "finished", id, result: null };
    default:
      return unreachable(request);
  }
}

function openedDevice(): ComputeDevice {
  return present(device, "A device must be open before it is used");
}

function openStage(stage: number): StageCompute {
  return present(stages.get(stage), `Stage ${stage} of this worker must be open`);
}

function callStage<M extends StageMethod>(stage: StageCompute, method: M, args: StageArguments<M>): Promise<unknown> {
  const call = stage[method] as (...args: StageArguments<M>) => Promise<unknown>;
  return call.apply(stage, args);
}

async function openDevice(choice: DeviceChoice): Promise<ComputeDevice> {
  if (choice === "reference") {
    const { createReferenceStage } = await import("./reference/stage.ts");
    const adapter: AdapterDescription = { device: "reference", name: "float64 in TypeScript", isSoftware: true };
    return { adapter, gpu: null, createStage: (spec, options) => Promise.resolve(createReferenceStage(spec, options)) };
  }
  const gpu = await openGpuDevice();
  const kernels = new Kernels(gpu);
  return {
    adapter: gpu.adapter,
    gpu,
    createStage: (spec, options) => createWebGpuStage(gpu, spec, { kernels, ...options }),
  };
}
