/**
 * The devices of this thread: a GPU, the processor, a software adapter. Without a real GPU, `auto` takes the faster of
 * the others, by the clock, or per CPU second when nodes share the machine.
 */

import { unreachable } from "../core/assert.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "./compute.ts";
import { measureCpuAdapter, measureCpuAttention, measureCpuGemm } from "./cpu/cpu_speed.ts";
import { cpuAdapter, CpuStageDevice, createCpuStage } from "./cpu/cpu_stage.ts";
import { CpuMemory } from "./cpu/layout/memory.ts";
import type { AdapterSpeed } from "./speed/adapter_speed.ts";
import type { AttentionRequest } from "./speed/attention_speed.ts";
import type { BatchSpeed } from "./speed/batch_speed.ts";
import type { GemmRequest, GemmSpeed } from "./speed/gemm_speed.ts";
import type { StartHelpers } from "./cpu/threads/helper_messages.ts";
import type { FitAdapter } from "./stage_fit.ts";
import { planStage, type StagePlan } from "./stage_plan.ts";
import { TooLittleMemoryError, withLessKept } from "./fit/too_large.ts";
import { type AdapterKind, type DeviceFacts, type GpuDevice, NoAdapterError, openGpuDevice } from "./webgpu/device.ts";
import { checkOperations, type OperationCheck } from "./trace/operation_check.ts";
import { measureGpuAdapter, measureGpuAttention, measureGpuGemm } from "./webgpu/gpu_speed.ts";
import { Kernels } from "./webgpu/kernel.ts";
import type { KernelSettings } from "./webgpu/ops.ts";
import { type GemmTuning, tuneGemm, type TuneRequest } from "./webgpu/tuning/tune_gemm.ts";
import { type TunedGemms, tunedKernels } from "./webgpu/tuning/tuned.ts";
import { createWebGpuStage, WebGpuStageDevice } from "./webgpu/stage/webgpu_stage.ts";
import type { DeviceRequest } from "./worker_protocol.ts";

export interface ComputeDevice {
  readonly adapter: AdapterDescription;
  readonly threads: number | null; // null: not the processor
  readonly reason: string | null; // of `auto`
  facts(): DeviceFacts | null; // null: no limits of its own
  createStage(spec: StageSpec, options: StageOptions): Promise<StageCompute>;
  measureGemm(request: GemmRequest): Promise<GemmSpeed>;
  measureAttention(request: AttentionRequest): Promise<BatchSpeed>;
  measureAdapter(budgetMs: number): Promise<AdapterSpeed>;
  tune(request: TuneRequest): Promise<GemmTuning | null>; // null: nothing to tune
  checkOperations(specs: readonly StageSpec[]): Promise<OperationCheck>;
}

const probeMs = 250; // per candidate

interface Threads {
  readonly threads: number;
  readonly start: StartHelpers;
}

export async function openDevice(
  { device, isShared, threads, tuned }: DeviceRequest,
  start: StartHelpers,
): Promise<ComputeDevice> {
  const own: Threads = { threads, start };
  const onGpu = (gpu: GpuDevice, kind?: AdapterKind) => gpuDevice(gpu, { settings: tunedKernels(gpu, tuned), kind });
  switch (device) {
    case "cpu":
      return cpuDevice(own, null);
    case "webgpu":
      return onGpu(await openGpuDevice());
    case "gpu":
      return onGpu(await openGpuDevice({ kind: "hardware" }), "hardware");
    case "software":
      return onGpu(await openGpuDevice({ kind: "software" }), "software");
    case "auto":
      return await fastestDevice(own, { isShared, tuned });
    default:
      return unreachable(device);
  }
}

async function fastestDevice(
  own: Threads,
  { isShared, tuned }: { isShared: boolean; tuned: TunedGemms },
): Promise<ComputeDevice> {
  const gpu = await adapterIfAny();
  if (gpu === null) return cpuDevice(own, "no GPU was found");
  const settings = tunedKernels(gpu, tuned);
  if (!gpu.adapter.isSoftware) return gpuDevice(gpu, { settings });
  const [ours, software] = [
    await measureCpuGemm({ budgetMs: probeMs }, own),
    await measureGpuGemm({ gpu, settings }, { budgetMs: probeMs }),
  ];
  const speed = (of: GemmSpeed) => isShared ? of.flopsPerCpuSecond : of.flopsPerSecond;
  const unit = isShared ? "GFLOP per CPU second" : "GFLOP/s";
  const text = (of: GemmSpeed) => (speed(of) / 1e9).toFixed(1);
  if (speed(software) > speed(ours)) {
    const reason = `${text(software)} ${unit}, the processor itself ${text(ours)}; no GPU was found`;
    return gpuDevice(gpu, { settings, reason });
  }
  return cpuDevice(own, `${text(ours)} ${unit}, ${gpu.adapter.name} ${text(software)}; no GPU was found`);
}

async function adapterIfAny(): Promise<GpuDevice | null> {
  try {
    return await openGpuDevice();
  } catch (error) {
    if (error instanceof NoAdapterError) return null;
    throw error;
  }
}

function gpuDevice(
  gpu: GpuDevice,
  { settings, reason = null, kind }: {
    settings: KernelSettings;
    reason?: string | null;
    kind?: AdapterKind | undefined;
  },
): ComputeDevice {
  const kernels = new Kernels(gpu);
  return {
    adapter: gpu.adapter,
    threads: null,
    reason,
    facts: () => gpu.facts(),
    createStage: async (spec, options) => {
      const adapter = { limits: gpu.device.limits, isSoftware: gpu.adapter.isSoftware };
      const { recomputes } = await fittingPlan(spec, adapter, options);
      const build = (own: StageOptions) => createWebGpuStage(gpu, spec, { kernels, settings, ...own });
      return await withLessKept({ ...options, recomputes }, build);
    },
    measureGemm: (request) => measureGpuGemm({ gpu, settings }, request),
    measureAttention: (request) => measureGpuAttention({ gpu, settings }, request),
    measureAdapter: (budgetMs) => measureGpuAdapter(gpu, budgetMs),
    tune: (request) => tuneAdapter(gpu, { kind, request }),
    checkOperations: (specs) => {
      const device = () => new WebGpuStageDevice(gpu, { kernels, settings });
      return checkOperations(specs, { device, processor: processorDevice });
    },
  };
}

const processorDevice = () => new CpuStageDevice(new CpuMemory({}), { threads: 1 });

async function tuneAdapter(
  { adapter }: GpuDevice,
  { kind, request }: { kind: AdapterKind | undefined; request: TuneRequest },
): Promise<GemmTuning> {
  const gpu = await openGpuDevice({ timestamps: true, kind: kind ?? (adapter.isSoftware ? "software" : "hardware") });
  try {
    return await tuneGemm(gpu, request);
  } finally {
    await gpu.whileWorking(gpu.device.queue.onSubmittedWorkDone()); // see ComputeWorker.finish
  }
}

function cpuDevice(own: Threads, reason: string | null): ComputeDevice {
  const { threads, start } = own;
  return {
    adapter: cpuAdapter,
    threads,
    reason,
    facts: () => null,
    createStage: async (spec, options) => {
      const { recomputes } = await fittingPlan(spec, "cpu", { ...options, threads });
      return await createCpuStage(spec, { ...options, threads, recomputes }, { start });
    },
    measureGemm: (request) => measureCpuGemm(request, own),
    measureAttention: (request) => measureCpuAttention(request, own),
    measureAdapter: (budgetMs) => measureCpuAdapter(budgetMs),
    tune: () => Promise.resolve(null),
    checkOperations: (specs) => checkOperations(specs, { device: null, processor: processorDevice }),
  };
}

/** Refuses a stage before anything is allocated. */
async function fittingPlan(spec: StageSpec, adapter: FitAdapter, options: StageOptions): Promise<StagePlan> {
  const plan = await planStage(spec, adapter, options);
  if (plan.problem !== null) throw plan.problem;
  const { bytes, fits } = plan;
  if (!fits) throw TooLittleMemoryError.allowed({ bytes, memoryBytes: options.memoryBytes ?? Infinity });
  return plan;
}
